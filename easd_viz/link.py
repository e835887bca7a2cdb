"""Settings as a link's query and back: what the Run tab's controls hold, or a bundled example and one of its tokens.

Nothing that comes with a link is trusted: every value that is out of range is brought into it, and that is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from easd_viz import UserError
from easd_viz.models import PairSpec
from easd_viz.trace import MODES, RESAMPLES, Config

LONGEST_PROMPT = 8_000
"""Characters: servers and browsers cut or refuse links that are much longer."""

WHOLE: Mapping[str, tuple[str, int, int]] = {
    "gamma": ("gamma", 1, 16),
    "top_k": ("top_k", 0, 200),
    "k": ("k", 1, 20),
    "tokens": ("max_new_tokens", 1, 1024),
    "seed": ("seed", 0, 2**53 - 1),
}
"""Parameter -> (config field, lowest, highest). The ranges are those of the controls; a browser's numbers end at 2**53."""

NUMBERS: Mapping[str, tuple[str, float, float]] = {
    "temperature": ("temperature", 0, 2),
    "top_p": ("top_p", 0.05, 1),
    "tau_draft": ("draft_threshold", 0, 8),
    "tau_target": ("target_threshold", 0, 8),
    "rho": ("overlap_threshold", 0, 1),
}
CHOICES: Mapping[str, tuple[str, ...]] = {"mode": MODES, "resample": RESAMPLES}
DTYPES = ("auto", "float32", "bfloat16", "float16")
DEVICES = ("auto", "cpu", "cuda", "mps")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run of the Run tab is asked for with."""

    prompt: str
    chat_template: bool
    config: Config
    pair: str
    """As ``PairSpec.parse`` takes it."""
    dtype: str
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class Link:
    """What a link asks for: settings, an example, or (both None) nothing."""

    settings: Settings | None = None
    example: str | None = None
    token: str | None = None
    """Of the example: round and draft index, ``e`` for an emitted one, as the views name tokens."""
    notes: tuple[str, ...] = ()
    """What could not be taken as it was."""


def of_settings(settings: Settings) -> str:
    """The query (without ``?``) that carries all of them; raises UserError where the prompt is too long for a link."""
    if len(settings.prompt) > LONGEST_PROMPT:
        raise UserError(
            f"this prompt has {len(settings.prompt)} characters, and a link holds {LONGEST_PROMPT}; "
            f"share the run as a file instead"
        )
    config = settings.config
    own = {name: getattr(config, name) for name in CHOICES}
    whole = {name: getattr(config, attribute) for name, (attribute, _, _) in WHOLE.items()}
    numbers = {name: repr(float(getattr(config, attribute))) for name, (attribute, _, _) in NUMBERS.items()}
    rest = {"template": int(settings.chat_template), "pair": settings.pair, "dtype": settings.dtype, "device": settings.device}
    return urlencode({"prompt": settings.prompt, **own, **whole, **numbers, **rest})


def of_example(name: str, token: str | None = None) -> str:
    """The query that names a bundled example, and a token of it."""
    return urlencode({"example": name} if token is None else {"example": name, "token": token})


def read(query: Mapping[str, str], base: Settings) -> Link:
    """What a link's query asks for; what it leaves out is as in ``base``."""
    if "example" in query:
        token = query.get("token")
        if token is not None and not re.fullmatch(r"\d{1,6}\.(\d{1,2}|e)", token):
            return Link(example=query["example"], notes=(f"token {_short(token)} is not a token’s name",))
        return Link(example=query["example"], token=token)
    reader = _Reader(query)
    settings = reader.settings(base)
    return Link(settings, notes=tuple(reader.notes)) if reader.found else Link()


def _short(value: str) -> str:
    return f"“{value[:40]}{'…' if len(value) > 40 else ''}”"


@dataclass(slots=True)
class _Reader:
    """Takes parameters one by one, noting what it had to change."""

    query: Mapping[str, str]
    notes: list[str] = field(default_factory=list)
    found: bool = False

    def settings(self, base: Settings) -> Settings:
        prompt = self.take("prompt", self._prompt, base.prompt)
        template = self.take("template", self._yes_or_no, base.chat_template)
        pair = self.take("pair", self._pair, base.pair)
        dtype = self.take("dtype", self._one_of(DTYPES), base.dtype)
        device = self.take("device", self._one_of(DEVICES), base.device)
        changes: dict[str, Any] = {n: self.take(n, self._one_of(all_), getattr(base.config, n)) for n, all_ in CHOICES.items()}
        for name, (attribute, low, high) in WHOLE.items():
            changes[attribute] = self.take(name, self._whole(low, high), getattr(base.config, attribute))
        for name, (attribute, lowest, highest) in NUMBERS.items():
            changes[attribute] = self.take(name, self._number(lowest, highest), getattr(base.config, attribute))
        if 0 < changes["temperature"] < 0.01:
            self.notes.append("temperature is below 0.01: 0 (greedy) is set")
            changes["temperature"] = 0.0
        return Settings(prompt, template, replace(base.config, **changes), pair, dtype, device)

    def take(self, name: str, parse: Callable[[str, str], Any], default: Any) -> Any:
        value = self.query.get(name)
        if value is None:
            return default
        self.found = True
        parsed = parse(name, value)
        if parsed is None:
            self.notes.append(f"{name} {_short(value)} is not understood: {_shown(default)} is kept")
            return default
        return parsed

    def _prompt(self, name: str, value: str) -> str:
        if len(value) > LONGEST_PROMPT:
            self.notes.append(f"the prompt is cut to {LONGEST_PROMPT} characters")
        return value[:LONGEST_PROMPT]

    def _yes_or_no(self, name: str, value: str) -> bool | None:
        return {"1": True, "0": False}.get(value)

    def _pair(self, name: str, value: str) -> str | None:
        try:
            return PairSpec.parse(value).id if len(value) <= 300 else None
        except UserError:
            return None

    def _one_of(self, allowed: tuple[str, ...]) -> Callable[[str, str], str | None]:
        return lambda name, value: value if value in allowed else None

    def _whole(self, low: int, high: int) -> Callable[[str, str], int | None]:
        def parse(name: str, value: str) -> int | None:
            if not re.fullmatch(r"[+-]?\d{1,30}", value):
                return None
            return int(self._clamped(name, int(value), low, high))

        return parse

    def _number(self, low: float, high: float) -> Callable[[str, str], float | None]:
        def parse(name: str, value: str) -> float | None:
            try:
                number = float(value)
            except ValueError:
                return None
            return None if math.isnan(number) else float(self._clamped(name, number, low, high))

        return parse

    def _clamped(self, name: str, value: float, low: float, high: float) -> float:
        if low <= value <= high:
            return value
        self.notes.append(f"{name} {value:g} is outside {low:g} to {high:g}: {min(max(value, low), high):g} is set")
        return min(max(value, low), high)


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else _short(str(value))
