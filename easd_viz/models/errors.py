"""The error of everything that concerns models: one line that says what, why, and what to do instead."""

from __future__ import annotations

from easd_viz import UserError


class ModelError(UserError):
    """A model or a pair that can't be used: not found, not fitting, not decodable here."""


def first_line(error: BaseException) -> str:
    """The first non-empty line of an error's message, for one-line reports."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
