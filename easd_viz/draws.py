"""Common random numbers: every uniform is a function of (seed, absolute position, role), so runs can be compared and resumed."""

from __future__ import annotations

import hashlib
import struct
from typing import Literal

Role = Literal["draft", "accept", "emit"]
_ROLES: dict[str, int] = {"draft": 1, "accept": 2, "emit": 3}
_STEPS = 1 << 24
"""A float32 holds each multiple of 2**-24 in (0, 1] exactly: the host and every device see the same number."""


def uniform(seed: int, position: int, role: Role) -> float:
    """The uniform in (0, 1] of one draw, a multiple of 2**-24: a keyed hash (BLAKE2b), no state."""
    digest = hashlib.blake2b(struct.pack("<QQB", seed, position, _ROLES[role]), digest_size=8).digest()
    return ((int.from_bytes(digest, "little") >> 40) + 1) / _STEPS
