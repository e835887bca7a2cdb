"""The trace: what a run recorded, as frozen values, and its JSON Lines form (schema 1).

One header object, one object per step, one footer object. A file can be read while it is being written: a cut-off
one loads up to its last whole line and is ``incomplete``. Pure values: no tensors, no models, never pickle.
"""

from __future__ import annotations

import gc
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, get_args

import orjson

from easd_viz import UserError

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
TOP_LENGTH = 20
"""K: at least this many tokens per recorded top list (fewer only where the vocabulary is smaller)."""

Mode = Literal["easd", "sd", "target", "draft"]
Resample = Literal["target", "exclude"]
Outcome = Literal["accepted", "rejected", "gated", "discarded"]
Source = Literal["residual", "target", "target_excluding_draft", "bonus"]
StopReason = Literal["eos", "length", "stopped", "error"]
MODES, RESAMPLES, OUTCOMES = get_args(Mode), get_args(Resample), get_args(Outcome)
SOURCES, STOP_REASONS = get_args(Source), get_args(StopReason)
TopEntry = tuple[int, str, float]
"""(token id, text, probability) of the softmax that entropy is defined on."""


class TraceError(UserError):
    """A trace file or a config that does not hold what it should; names the line where there is one."""


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that decides what a run does, apart from its models and its prompt."""

    mode: Mode = "easd"
    gamma: int = 2
    """Tokens drafted per round, 1 to 16 (0 only where mode is ``target``, which drafts nothing whatever this says). The demo
    pair is fastest with 2 (its card)."""
    temperature: float = 0.7
    """0 is greedy."""
    top_k: int = 0
    """The sampler's top-k; 0 is off. Not the gate's k."""
    top_p: float = 1.0
    """The sampler's top-p; 1 is off."""
    k: int = 10
    """Length of the compared top-k lists (the gate's k), 1 to 20."""
    draft_threshold: float = 1.3
    """tau_draft, nats. With the other defaults it gates about one in ten accepted tokens of the demo pair (its card)."""
    target_threshold: float = 1.2
    """tau_target, nats."""
    overlap_threshold: float = 0.4
    """rho, in [0, 1]."""
    resample: Resample = "target"
    max_new_tokens: int = 128
    seed: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        _one_of("mode", self.mode, MODES)
        _one_of("resample", self.resample, RESAMPLES)
        _integer("gamma", self.gamma, 0 if self.mode == "target" else 1, 16)
        _number("temperature", self.temperature, 0, 10)
        if 0 < self.temperature < 0.01:
            raise TraceError(f"temperature must be 0 (greedy) or from 0.01 to 10; it is {self.temperature}")
        _integer("top_k", self.top_k, 0, 10**9)
        _number("top_p", self.top_p, 0, 1)
        if self.top_p == 0:
            raise TraceError("top_p must be above 0 and at most 1 (1 is off); it is 0")
        _integer("k", self.k, 1, 20)
        _number("draft_threshold", self.draft_threshold, 0, math.inf)
        _number("target_threshold", self.target_threshold, 0, math.inf)
        _number("overlap_threshold", self.overlap_threshold, 0, 1)
        _integer("max_new_tokens", self.max_new_tokens, 1, 10**9)
        _integer("seed", self.seed, 0, 2**63 - 1)

    @property
    def is_plain(self) -> bool:
        """Whether tokens are drawn from the very softmax that entropy is defined on: not greedy, nothing truncated."""
        return self.temperature > 0 and self.top_k == 0 and self.top_p == 1


@dataclass(frozen=True, slots=True)
class Token:
    """A drafted token and all that led to its outcome. Target fields are None in draft-only runs."""

    position: int
    """Absolute, the prompt included, from 0."""
    draft_index: int
    """i, from 1."""
    token_id: int
    text: str
    bytes: str | None
    """Hex, only where the token's bytes are not valid UTF-8 alone."""
    draft_prob: float
    """q(x) after temperature, top-k and top-p."""
    target_prob: float | None
    """p(x) after temperature, top-k and top-p."""
    accept_prob: float | None
    """min(1, p/q)."""
    uniform: float | None
    """u in (0, 1], drawn up front, for discarded tokens too."""
    draft_entropy: float
    """H(q), nats, full vocabulary, before top-k and top-p."""
    target_entropy: float | None
    """H(p), likewise."""
    overlap: float | None
    """overlap_k at the config's k."""
    draft_top: tuple[TopEntry, ...]
    target_top: tuple[TopEntry, ...] | None
    beta: float | None
    """sum over v of min(p(v), q(v))."""
    tv_target: float | None
    """Total variation between the emitted law with the gate open, rule ``target``, and p."""
    tv_exclude: float | None
    """The same under rule ``exclude``."""
    outcome: Outcome
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Emitted:
    """A step's last token: the replacement of a rejected or gated one, or the bonus."""

    position: int
    token_id: int
    text: str
    bytes: str | None
    source: Source
    prob: float
    """Under the law it was drawn from."""
    target_prob: float
    """p of it, after temperature, top-k and top-p."""
    target_entropy: float
    uniform: float
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """One draft-verify round."""

    index: int
    drafted: tuple[Token, ...]
    emitted: Emitted | None
    """None when an accepted end of text or the length limit ends the step, and in draft-only runs."""
    draft_ms: float
    verify_ms: float
    record_ms: float
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def accepted(self) -> tuple[Token, ...]:
        return tuple(t for t in self.drafted if t.outcome == "accepted")

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The ids this step adds to the text, in order."""
        last = () if self.emitted is None else (self.emitted.token_id,)
        return (*(t.token_id for t in self.accepted), *last)

    @property
    def on_path(self) -> tuple[Token, ...]:
        """The drafted tokens that were decided on."""
        return tuple(t for t in self.drafted if t.outcome != "discarded")


@dataclass(frozen=True, slots=True)
class ModelInfo:
    id: str
    revision: str | None
    dtype: str
    device: str
    vocab_size: int
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Prompt:
    text: str
    token_ids: tuple[int, ...]
    chat_template: bool
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Parent:
    """Where a branch comes from: its parent trace, the first step that is its own, and what was changed."""

    trace: str
    """The parent's ``Trace.fingerprint``."""
    step: int
    change: Mapping[str, Any]
    """Config fields with their new values."""
    forced: Mapping[int, Outcome] = field(default_factory=dict)
    """Position -> the verdict that was forced there."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Header:
    app_version: str
    created: str
    """ISO 8601, UTC, ending in Z."""
    draft_model: ModelInfo | None
    """None only in target-only runs."""
    target_model: ModelInfo | None
    """None only in draft-only runs."""
    tokenizer: Mapping[str, Any]
    """{"fingerprint": ...}"""
    prompt: Prompt
    config: Config
    versions: Mapping[str, str]
    parent: Parent | None = None
    schema_version: int = SCHEMA_VERSION
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Footer:
    stop_reason: StopReason
    text: str
    prefill_ms: float
    wall_ms: float
    """Decode wall time, prefill apart."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Trace:
    header: Header
    steps: tuple[Step, ...]
    footer: Footer | None
    """None while the run goes on, and where a file was cut off."""

    @property
    def incomplete(self) -> bool:
        return self.footer is None

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits that name this trace: of its header and steps, footer left out."""
        digest = hashlib.sha256(_dumps(header_json(self.header)))
        for step in self.steps:
            digest.update(_dumps(step_json(step)))
        return digest.hexdigest()[:16]

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The emitted ids, prompt apart."""
        return tuple(i for step in self.steps for i in step.token_ids)

    @property
    def text(self) -> str:
        """The emitted text, prompt apart, from the recorded pieces: a character split over tokens is whole here."""
        raw = b""
        for step in self.steps:
            emitted = () if step.emitted is None else (step.emitted,)
            for token in (*step.accepted, *emitted):
                raw += token.text.encode() if token.bytes is None else bytes.fromhex(token.bytes)
        return raw.decode("utf-8", "replace")

    def finished(self, reason: StopReason) -> Trace:
        """This trace with a footer. Its wall time is its steps' own: what a caller does between two steps is not in it."""
        wall_ms = sum(s.draft_ms + s.verify_ms + s.record_ms for s in self.steps)
        prefill_ms = float(self.header.extra.get("prefill_ms", 0.0))
        return replace(self, footer=Footer(reason, self.text, prefill_ms, wall_ms))

    @property
    def forced(self) -> Mapping[int, Outcome]:
        return {} if self.header.parent is None else self.header.parent.forced


# ---- writing ---------------------------------------------------------------------------------------------


def _dumps(record: Mapping[str, Any]) -> bytes:
    return orjson.dumps(record)


def _plain(record: Any) -> dict[str, Any]:
    """A record's own fields, in order, then the unknown ones it was read with."""
    out = {f.name: getattr(record, f.name) for f in fields(record) if f.name != "extra"}
    return {**out, **record.extra}


def config_json(config: Config) -> dict[str, Any]:
    return {name: "inf" if value == math.inf else value for name, value in _plain(config).items()}


def header_json(header: Header) -> dict[str, Any]:
    out = _plain(header)
    del out["schema_version"]
    for name in ("draft_model", "target_model"):
        out[name] = None if out[name] is None else _plain(out[name])
    out["prompt"] = _plain(header.prompt)
    out["config"] = config_json(header.config)
    if header.parent is not None:
        parent = _plain(header.parent)
        parent["forced"] = {str(position): outcome for position, outcome in header.parent.forced.items()}
        parent["change"] = {name: "inf" if v == math.inf else v for name, v in header.parent.change.items()}
        out["parent"] = parent
    return {"kind": "header", "schema_version": header.schema_version, **out}


def step_json(step: Step) -> dict[str, Any]:
    out = _plain(step)
    out["drafted"] = [_token_json(t) for t in step.drafted]
    out["emitted"] = None if step.emitted is None else _without_empty_bytes(_plain(step.emitted))
    return {"kind": "step", **out}


def _token_json(token: Token) -> dict[str, Any]:
    return _without_empty_bytes(_plain(token))


def _without_empty_bytes(record: dict[str, Any]) -> dict[str, Any]:
    if record["bytes"] is None:
        del record["bytes"]
    return record


def footer_json(footer: Footer) -> dict[str, Any]:
    return {"kind": "footer", **_plain(footer)}


def lines(trace: Trace) -> Iterator[bytes]:
    """The trace as JSON Lines, each line with its newline."""
    yield _dumps(header_json(trace.header)) + b"\n"
    for step in trace.steps:
        yield _dumps(step_json(step)) + b"\n"
    if trace.footer is not None:
        yield _dumps(footer_json(trace.footer)) + b"\n"


def dumps(trace: Trace) -> bytes:
    return b"".join(lines(trace))


# ---- reading ---------------------------------------------------------------------------------------------

StepCheck = Callable[[Step, Config, Mapping[int, Outcome], bool], None]
"""Raises TraceError where a step's outcomes contradict the decision rule; the last argument: inherited from a branch's parent."""


def loads(data: bytes | str, check_step: StepCheck | None = None) -> Trace:
    """Read a trace and validate all of it; raise TraceError with the line of the first problem.

    A last line without its newline, or without a footer after it, is a cut-off file: what is whole is returned,
    ``incomplete``. ``check_step`` adds the decision rule (``verify.check_step``).
    """
    with _collector_paused():
        return _loads(data.encode() if isinstance(data, str) else data, check_step)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Millions of small tuples and no cycles: the cycle collector would take a third of the time to find nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _loads(raw: bytes, check_step: StepCheck | None) -> Trace:
    header: Header | None = None
    steps: list[Step] = []
    footer: Footer | None = None
    next_position = 0
    for number, record in _records(raw):
        try:
            if footer is not None:
                raise TraceError("there is something after the footer")
            kind = record.pop("kind", None)
            if header is None:
                if kind != "header":
                    raise TraceError(f"a trace begins with a header object, found kind {kind!r}")
                header = _read_header(record)
                next_position = len(header.prompt.token_ids)
            elif kind == "step":
                step = _read_step(record)
                next_position = _check_order(step, len(steps), next_position, header)
                if check_step is not None:
                    parent = header.parent
                    inherited = parent is not None and step.index < parent.step
                    check_step(step, header.config, {} if parent is None else parent.forced, inherited)
                steps.append(step)
            elif kind == "footer":
                footer = _read_footer(record)
            else:
                raise TraceError(f"kind must be 'step' or 'footer', found {kind!r}")
        except TraceError as error:
            raise TraceError(f"line {number}: {error}") from None
    if header is None:
        raise TraceError("line 1: the file is empty or cut off before its header; a trace begins with a header object")
    return Trace(header, tuple(steps), footer)


def _records(raw: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line; a last line that was cut off is left out."""
    pieces = raw.split(b"\n")
    last = len(pieces)
    for number, piece in enumerate(pieces, start=1):
        if not piece.strip():
            continue
        try:
            record = orjson.loads(piece)
        except orjson.JSONDecodeError as error:
            if number == last and number > 1:
                return
            raise TraceError(f"line {number}: not a JSON object ({error})") from None
        if not isinstance(record, dict):
            raise TraceError(f"line {number}: expected a JSON object, found {type(record).__name__}")
        yield number, record


def _check_order(step: Step, index: int, position: int, header: Header) -> int:
    """Raise unless the step follows on; the position after it."""
    if step.index != index:
        raise TraceError(f"step index is {step.index}, expected {index}")
    mode = header.config.mode
    for i, token in enumerate(step.drafted):
        if token.position != position + i:
            raise TraceError(f"position is {token.position}, expected {position + i}")
        if token.draft_index != i + 1:
            raise TraceError(f"draft_index at position {token.position} is {token.draft_index}, expected {i + 1}")
        _check_mode(token, mode)
    if mode == "target" and step.drafted:
        raise TraceError("a target-only run has no drafted tokens")
    if mode == "target" and step.emitted is not None and step.emitted.source != "target":
        raise TraceError(f"source in a target-only run is 'target', found {step.emitted.source!r}")
    if mode == "draft" and step.emitted is not None:
        raise TraceError("a draft-only run emits only its drafted tokens; emitted must be null")
    if not step.drafted and step.emitted is None:
        raise TraceError("a step without drafted tokens must emit one")
    position += len(step.accepted)
    if step.emitted is not None:
        if step.emitted.position != position:
            raise TraceError(f"position of the emitted token is {step.emitted.position}, expected {position}")
        position += 1
    return position


TARGET_FIELDS = (
    "target_prob",
    "accept_prob",
    "uniform",
    "target_entropy",
    "overlap",
    "target_top",
    "beta",
    "tv_target",
    "tv_exclude",
)
"""The fields of a drafted token that need the target: null in draft-only runs, there in all others."""


def _check_mode(token: Token, mode: Mode) -> None:
    for name in TARGET_FIELDS:
        if (getattr(token, name) is None) != (mode == "draft"):
            wanted = "null in a draft-only run" if mode == "draft" else "a number" if name != "target_top" else "a list"
            raise TraceError(f"{name} at position {token.position} must be {wanted}")
    if mode == "draft" and token.outcome not in ("accepted", "discarded"):
        raise TraceError(f"outcome at position {token.position} in a draft-only run is 'accepted', found {token.outcome!r}")


_MISSING = object()


class _Fields:
    """Takes a JSON object's fields one by one, checking each; what is left over is ``extra``."""

    __slots__ = ("left", "where")

    def __init__(self, record: Any, where: str) -> None:
        if not isinstance(record, dict):
            raise TraceError(f"{where} must be an object, found {record!r:.60}")
        self.left, self.where = record, where

    def take(self, name: str) -> Any:
        value = self.left.pop(name, _MISSING)
        if value is _MISSING:
            raise self._lacks(name)
        return value

    def _lacks(self, name: str) -> TraceError:
        return TraceError(f"{self.where} lacks {name!r}")

    def text(self, name: str, *, none: bool = False) -> Any:
        value = self.take(name)
        if not isinstance(value, str) and not (none and value is None):
            raise TraceError(f"{name} must be a string, found {value!r:.60}")
        return value

    def integer(self, name: str) -> int:
        value = self.take(name)
        if type(value) is not int or value < 0:
            raise TraceError(f"{name} must be a whole number of at least 0, found {value!r:.60}")
        return value

    def number(self, name: str, high: float = math.inf, *, none: bool = False) -> Any:
        value = self.left.pop(name, _MISSING)
        if type(value) is float and 0 <= value <= high:  # nearly always
            return value
        if value is _MISSING:
            raise self._lacks(name)
        if value is None and none:
            return None
        if type(value) not in (int, float) or not 0 <= value <= high:
            raise TraceError(f"{name} must be a number from 0 to {high:g}, found {value!r:.60}")
        return float(value)

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self.take(name)
        if not isinstance(value, dict):
            raise TraceError(f"{name} must be an object, found {value!r:.60}")
        return value

    def one_of(self, name: str, allowed: tuple[str, ...]) -> Any:
        value = self.take(name)
        if value not in allowed:
            raise TraceError(f"{name} must be one of {', '.join(allowed)}; found {value!r:.60}")
        return value

    def hex(self) -> str | None:
        value: str | None = self.left.pop("bytes", None)
        if value is None:
            return None
        try:
            bytes.fromhex(value)
        except (TypeError, ValueError):
            raise TraceError(f"bytes must be hexadecimal digits, found {value!r:.60}") from None
        return value


_PROB = 1 + 1e-6
"""A float32 sum of probabilities may end this far above 1."""


def _read_token(record: Any) -> Token:
    """A drafted token. As usual is a verified one whose every field is of the usual type and in range: one look tells."""
    token = _usual_token(record) if isinstance(record, dict) else None
    return _read_unusual_token(record) if token is None else token


_USUAL_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("position", "draft_index", "token_id"), int),
    "text": str,
    **dict.fromkeys(("draft_prob", "target_prob", "accept_prob", "uniform", "draft_entropy", "target_entropy", "overlap"), float),
    **dict.fromkeys(("draft_top", "target_top"), list),
    **dict.fromkeys(("beta", "tv_target", "tv_exclude"), float),
    "outcome": str,
}
_token_values = itemgetter(*_USUAL_TYPES)
_TYPES = tuple(_USUAL_TYPES.values())


def _usual_token(record: dict[str, Any]) -> Token | None:
    """The token, every check of ``_read_unusual_token`` made on all fields at once; None where that one has to look closer."""
    try:
        values = _token_values(record)
    except KeyError:
        return None
    if len(record) != len(values) or tuple(map(type, values)) != _TYPES:
        return None
    position, index, token_id, text, draft_prob, target_prob, accept_prob, uniform, draft_h, target_h, shared, *rest = values
    draft_top, target_top, beta, tv_target, tv_exclude, outcome = rest
    if min(position, index, token_id) < 0 or draft_prob <= 0 or uniform <= 0 or outcome not in OUTCOMES:
        return None
    if min(target_prob, accept_prob, draft_h, target_h, shared, beta, tv_target, tv_exclude) < 0:
        return None
    if max(accept_prob, uniform, shared) > 1 or max(draft_prob, target_prob, beta, tv_target, tv_exclude) > _PROB:
        return None
    tops = (_read_top("draft_top", draft_top), _read_top("target_top", target_top))
    numbers = (draft_prob, target_prob, accept_prob, uniform, draft_h, target_h, shared)
    return Token(position, index, token_id, text, None, *numbers, *tops, beta, tv_target, tv_exclude, outcome)


def _read_unusual_token(record: Any) -> Token:
    f = _Fields(record, "a drafted token")
    uniform = f.number("uniform", 1, none=True)
    if uniform == 0:
        raise TraceError("uniform must be above 0 and at most 1, found 0")
    token = Token(
        position=f.integer("position"),
        draft_index=f.integer("draft_index"),
        token_id=f.integer("token_id"),
        text=f.text("text"),
        bytes=f.hex(),
        draft_prob=f.number("draft_prob", _PROB),
        target_prob=f.number("target_prob", _PROB, none=True),
        accept_prob=f.number("accept_prob", 1, none=True),
        uniform=uniform,
        draft_entropy=f.number("draft_entropy"),
        target_entropy=f.number("target_entropy", none=True),
        overlap=f.number("overlap", 1, none=True),
        draft_top=_read_top("draft_top", f.take("draft_top")),
        target_top=_read_top("target_top", top) if (top := f.take("target_top")) is not None else None,
        beta=f.number("beta", _PROB, none=True),
        tv_target=f.number("tv_target", _PROB, none=True),
        tv_exclude=f.number("tv_exclude", _PROB, none=True),
        outcome=f.one_of("outcome", OUTCOMES),
        extra=f.left,
    )
    if token.draft_prob == 0:
        raise TraceError(f"draft_prob at position {token.position} must be above 0: the token was drawn from q")
    return token


def _read_top(name: str, entries: Any) -> tuple[TopEntry, ...]:
    """A top list: entries [token id, text, probability], best first. Nine tenths of a file, so what is as usual is read fast."""
    try:
        out: tuple[TopEntry, ...] = tuple(map(tuple, entries))
        previous = _PROB
        for i, text, prob in out:
            if type(i) is not int or i < 0 or type(text) is not str or type(prob) is not float or prob > previous:
                return _read_unusual_top(name, entries)
            previous = prob
    except (TypeError, ValueError):
        return _read_unusual_top(name, entries)
    if previous < 0 or not out or len({entry[0] for entry in out}) != len(out):
        return _read_unusual_top(name, entries)
    return out


def _read_unusual_top(name: str, entries: Any) -> tuple[TopEntry, ...]:
    """The same list, whole-number probabilities turned into floats, or what is wrong with it."""
    try:
        out = tuple([(i, text, float(prob)) for i, text, prob in entries])
    except (TypeError, ValueError):
        raise TraceError(f"{name} must be a list of [token_id, text, probability]") from None
    previous = _PROB
    for i, text, prob in out:
        if type(i) is not int or i < 0 or type(text) is not str or not 0 <= prob <= previous:
            raise TraceError(f"{name} must hold [token_id, text, probability], best first, found {[i, text, prob]!r:.80}")
        previous = prob
    if not out or len({entry[0] for entry in out}) != len(out):
        raise TraceError(f"{name} must not be empty or name a token twice")
    return out


def _read_emitted(record: Any) -> Emitted | None:
    if record is None:
        return None
    f = _Fields(record, "the emitted token")
    return Emitted(
        position=f.integer("position"),
        token_id=f.integer("token_id"),
        text=f.text("text"),
        bytes=f.hex(),
        source=f.one_of("source", SOURCES),
        prob=f.number("prob", _PROB),
        target_prob=f.number("target_prob", _PROB),
        target_entropy=f.number("target_entropy"),
        uniform=f.number("uniform", 1),
        extra=f.left,
    )


def _read_step(record: dict[str, Any]) -> Step:
    f = _Fields(record, "a step")
    drafted = f.take("drafted")
    if not isinstance(drafted, list):
        raise TraceError(f"drafted must be a list, found {drafted!r:.60}")
    return Step(
        index=f.integer("index"),
        drafted=tuple([_read_token(t) for t in drafted]),
        emitted=_read_emitted(f.take("emitted")),
        draft_ms=f.number("draft_ms"),
        verify_ms=f.number("verify_ms"),
        record_ms=f.number("record_ms"),
        extra=f.left,
    )


def _read_model(record: Any) -> ModelInfo | None:
    if record is None:
        return None
    f = _Fields(record, "a model")
    revision = f.text("revision", none=True)
    return ModelInfo(f.text("id"), revision, f.text("dtype"), f.text("device"), f.integer("vocab_size"), f.left)


def _read_config(record: Any) -> Config:
    f = _Fields(record, "config")
    values: dict[str, Any] = {g.name: f.take(g.name) for g in fields(Config) if g.name != "extra"}
    values |= {name: math.inf for name, value in values.items() if value == "inf"}
    return Config(**values, extra=f.left)


def _read_prompt(record: Any) -> Prompt:
    f = _Fields(record, "prompt")
    ids = f.take("token_ids")
    if not isinstance(ids, list) or not ids or not all(type(i) is int and i >= 0 for i in ids):
        raise TraceError("prompt.token_ids must be a list of at least one token id")
    template = f.take("chat_template")
    if not isinstance(template, bool):
        raise TraceError(f"prompt.chat_template must be true or false, found {template!r:.60}")
    return Prompt(f.text("text"), tuple(ids), template, f.left)


def _read_parent(record: Any) -> Parent | None:
    if record is None:
        return None
    f = _Fields(record, "parent")
    forced: dict[int, Outcome] = {}
    for position, outcome in dict(f.left.pop("forced", {})).items():
        if not str(position).isdigit() or outcome not in ("accepted", "rejected", "gated"):
            raise TraceError(f"parent.forced must map positions to verdicts, found {position!r}: {outcome!r}")
        forced[int(position)] = outcome
    change = {name: math.inf if v == "inf" else v for name, v in f.mapping("change").items()}
    return Parent(f.text("trace"), f.integer("step"), change, forced, f.left)


def _read_header(record: dict[str, Any]) -> Header:
    f = _Fields(record, "the header")
    version = f.take("schema_version")
    if type(version) is not int or version < 1:
        raise TraceError(f"schema_version must be a whole number, found {version!r:.60}")
    if version > SCHEMA_VERSION:
        raise TraceError(
            f"this trace has schema version {version}; this version of EASD Viz reads up to {SCHEMA_VERSION}. "
            f"Update EASD Viz to open it."
        )
    header = Header(
        app_version=f.text("app_version"),
        created=f.text("created"),
        draft_model=_read_model(f.take("draft_model")),
        target_model=_read_model(f.take("target_model")),
        tokenizer=f.mapping("tokenizer"),
        prompt=_read_prompt(f.take("prompt")),
        config=_read_config(f.take("config")),
        versions=f.mapping("versions"),
        parent=_read_parent(f.take("parent")),
        schema_version=version,
        extra=f.left,
    )
    if header.draft_model is None and header.config.mode != "target":
        raise TraceError("draft_model may be null only where mode is 'target'")
    if header.target_model is None and header.config.mode != "draft":
        raise TraceError("target_model may be null only where mode is 'draft'")
    return header


def _read_footer(record: dict[str, Any]) -> Footer:
    f = _Fields(record, "the footer")
    reason = f.one_of("stop_reason", STOP_REASONS)
    return Footer(reason, f.text("text"), f.number("prefill_ms"), f.number("wall_ms"), f.left)


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise TraceError(f"{name} must be one of {', '.join(allowed)}; it is {value!r:.60}")


def _integer(name: str, value: Any, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise TraceError(f"{name} must be a whole number from {low} to {high}; it is {value!r:.60}")


def _number(name: str, value: Any, low: float, high: float) -> None:
    if type(value) not in (int, float) or not low <= value <= high:
        raise TraceError(f"{name} must be a number from {low:g} to {high:g}; it is {value!r:.60}")


# ---- tables ----------------------------------------------------------------------------------------------


def drafted_frame(traces: Trace | Iterable[Trace]) -> pd.DataFrame:
    """One row per drafted token: its fields but the top lists, with ``trace`` (number) and ``step``."""
    import pandas as pd

    each = [traces] if isinstance(traces, Trace) else list(traces)
    names = [f.name for f in fields(Token) if f.name not in ("draft_top", "target_top", "extra")]
    rows = [
        (number, step.index, *(getattr(token, name) for name in names))
        for number, trace in enumerate(each)
        for step in trace.steps
        for token in step.drafted
    ]
    return pd.DataFrame(rows, columns=["trace", "step", *names])


def emitted_frame(trace: Trace) -> pd.DataFrame:
    """One row per token of the text, in order: position, id, text, where it came from (``accepted`` or the source), step."""
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    for step in trace.steps:
        for t in step.accepted:
            rows.append((t.position, t.token_id, t.text, "accepted", step.index, t.draft_entropy, t.target_entropy))
        if step.emitted is not None:
            e = step.emitted
            rows.append((e.position, e.token_id, e.text, e.source, step.index, None, e.target_entropy))
    columns = ["position", "token_id", "text", "source", "step", "draft_entropy", "target_entropy"]
    return pd.DataFrame(rows, columns=columns)
