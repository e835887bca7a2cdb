"""Runs of one prompt side by side: where their texts part, which decision did it, and how their numbers differ.

Draws are common (``draws``): runs of one prompt and one seed are the same up to the first decision that differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from easd_viz.metrics import Row, rows, summarise
from easd_viz.trace import Config, Emitted, Token, Trace

Kind = Literal["accepted", "rejected", "gated", "bonus", "target", "draft"]
"""How a token of the text came to be: a verdict on a drafted one, or drawn where there was none to judge."""

MODE_NAMES = {"easd": "EASD", "sd": "SD", "target": "Target alone", "draft": "Draft alone"}


@dataclass(frozen=True, slots=True)
class Decision:
    """What a run decided at one position of its text."""

    position: int
    kind: Kind
    step: int
    drafted: Token | None
    """The token that was judged; None for a bonus token and in target-only runs."""
    emitted: Emitted | None
    """What was emitted in its place, or without a draft; None where the drafted token itself was kept."""

    @property
    def token_id(self) -> int:
        token = self.emitted if self.emitted is not None else self.drafted
        assert token is not None
        return token.token_id

    @property
    def key(self) -> str:
        """The judged token as the views name it: round and draft index, ``e`` for an emitted one."""
        return f"{self.step}.{'e' if self.drafted is None else self.drafted.draft_index}"


def decisions(trace: Trace) -> list[Decision]:
    """One per token of the text, in order."""
    kept: Kind = "draft" if trace.header.config.mode == "draft" else "accepted"
    out: list[Decision] = []
    for step in trace.steps:
        out += [Decision(t.position, kept, step.index, t, None) for t in step.accepted]
        if step.emitted is None:
            continue
        turned = next((t for t in step.drafted if t.outcome in ("rejected", "gated")), None)
        kind: Kind = "target" if step.emitted.source == "target" else "bonus"
        if turned is not None:
            kind = "gated" if turned.outcome == "gated" else "rejected"
        out.append(Decision(step.emitted.position, kind, step.index, turned, step.emitted))
    return out


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a run's text parts from another's."""

    same: int
    """Tokens that both texts begin with."""
    first: Decision | None
    """The first run's decision at the first token that differs; None where its text ends there."""
    second: Decision | None
    silent: tuple[Decision, Decision] | None
    """The first decisions that differ and yet gave the same token, where those come before the texts part."""
    why: str
    """One sentence."""

    @property
    def parted(self) -> bool:
        return self.first is not None or self.second is not None


def fork(first: Trace, second: Trace) -> Fork:
    """Compare two runs of one prompt, token by token. Where one is still growing, its end is no difference yet."""
    silent: tuple[Decision, Decision] | None = None
    same = 0
    for a, b in zip_longest(decisions(first), decisions(second)):
        if a is None or b is None:
            growing = first if a is None else second
            if growing.footer is None:
                a = b = None
            return Fork(same, a, b, silent, _why(first, second, a, b, silent))
        if a.token_id != b.token_id:
            return Fork(same, a, b, silent, _why(first, second, a, b, silent))
        if silent is None and a.kind != b.kind and _both_judge(first, second):
            silent = (a, b)
        same += 1
    return Fork(same, None, None, silent, _why(first, second, None, None, silent))


def _both_judge(*traces: Trace) -> bool:
    return all(t.header.config.mode in ("easd", "sd") for t in traces)


def _why(first: Trace, second: Trace, a: Decision | None, b: Decision | None, silent: tuple[Decision, Decision] | None) -> str:
    if a is None and b is None:
        return _why_agreed(first, second)
    return _why_parted(first.header.config, second.header.config, a, b, silent)


def _why_agreed(first: Trace, second: Trace) -> str:
    one, other = first.header.config, second.header.config
    gated = [sum(t.outcome == "gated" for step in trace.steps for t in step.drafted) for trace in (first, second)]
    modes = {one.mode, other.mode}
    if one.temperature == 0 and modes <= {"sd", "target"}:
        return "At temperature 0 SD keeps the target’s own choices: the same text, token for token."
    if any(gated) and one.temperature == 0 and all(c.resample == "target" for c in (one, other) if c.mode == "easd"):
        times = _times(max(gated))
        return (
            f"At temperature 0 a gated token is replaced by the target’s first choice, the very token that SD accepted: "
            f"the gate fired {times} and cost rounds, but could not change the text."
        )
    if not any(gated) and "easd" in modes and modes <= {"easd", "sd"}:
        return "The gate never fired, and without it EASD is SD: same draws, same tokens."
    if any(gated):
        return "Where the gate fired, the target drew the same token again."
    return "Same draws, same tokens."


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _why_parted(
    one: Config, other: Config, a: Decision | None, b: Decision | None, silent: tuple[Decision, Decision] | None
) -> str:
    modes, kinds = {one.mode, other.mode}, {d.kind for d in (a, b) if d is not None}
    if a is None or b is None:
        return "One text ends here."
    if "draft" in modes:
        return "No target corrects the draft alone: it writes what the draft model likes."
    if "target" in modes:
        return (
            "The target alone draws from p directly; with a draft the same distribution is reached by test and residual. "
            "Other draws, so another text."
        )
    if kinds == {"gated"}:
        return "Both gated this token; the two ways of resampling drew different ones."
    if "gated" in kinds:
        return "The gate turned away a token that SD had accepted."
    if one.gamma != other.gamma:
        return (
            f"With γ = {one.gamma} and {other.gamma} the rounds end at different places: "
            f"one lane judges a draft here, the other draws anew."
        )
    if silent is not None and "gated" in {d.kind for d in silent}:
        return "An earlier gated token gave the same text but ended its round, so from there on the rounds fall differently."
    return "The rounds fall differently: one lane judges a draft here, the other draws anew."


# ---- numbers side by side ---------------------------------------------------------------------------------

SHOWN = (
    *("throughput", "block_efficiency", "acceptance_rate", "expected_acceptance", "draft_utilisation", "gate_rate"),
    *("expected_speed_up", "draft_share", "verify_share", "record_share"),
)
"""Keys of ``metrics.rows`` that a comparison shows, in this order."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run's value of a metric, and how it differs from the first run's."""

    text: str
    counts: str
    difference: str | None
    """None: in the first run, and where one of both is undefined."""
    sign: int
    """-1, 0 or 1: less than, as much as, more than in the first run."""


@dataclass(frozen=True, slots=True)
class Line:
    """A metric over all runs."""

    key: str
    label: str
    cells: tuple[Cell, ...]


def table(traces: Iterable[Trace]) -> list[Line]:
    """Every shown metric of every run, differences to the first one marked."""
    each = [{row.key: row for row in rows(summarise(trace))} for trace in traces]
    if not each:
        return []
    return [Line(key, each[0][key].label, tuple(_cell(run[key], each[0][key], run is each[0]) for run in each)) for key in SHOWN]


def _cell(row: Row, base: Row, is_base: bool) -> Cell:
    counts = row.counts.partition(" (c = ")[0]  # how c was come by is said once, on the Run tab
    if is_base or row.value is None or base.value is None:
        return Cell("–" if row.value is None else row.text, counts, None, 0)
    gap = row.value - base.value
    return Cell(row.text, counts, difference_words(gap, base.value, row.unit), (gap > 0) - (gap < 0))


def difference_words(gap: float, base: float, unit: str) -> str:
    """A difference as people say it: rates in points, speeds as a factor, the rest as it is."""
    if gap == 0:
        return "the same"
    if unit == "%":
        return f"{100 * gap:+.1f} points".replace("-", "−")
    if unit == "tokens/s" and base > 0:
        return f"× {(base + gap) / base:.2f}"
    return f"{gap:+.2f}".replace("-", "−")


def lane_words(config: Config) -> str:
    """The knobs by which a lane differs from others, in one line."""
    if config.mode == "target":
        return "one token per pass"
    words = f"γ {config.gamma}"
    if config.mode != "easd":
        return words
    rule = "without the draft’s token" if config.resample == "exclude" else "from the target"
    knobs = f"τ {config.draft_threshold:g} and {config.target_threshold:g} nats · ρ {config.overlap_threshold:g} · k {config.k}"
    return f"{words} · {knobs} · {rule}"


def greedy_note(configs: Sequence[Config]) -> str:
    """Why EASD and SD agree at temperature 0 under the rule ``target``; empty where that is not so."""
    gates = [c for c in configs if c.mode == "easd" and c.resample == "target"]
    if not gates or gates[0].temperature != 0:
        return ""
    return (
        "At temperature 0 a gated token is replaced by the target’s first choice: the very token that SD accepted. So under this "
        "rule EASD and SD write the same text, and the gate only costs rounds. Resample without the draft’s token to see a "
        "difference."
    )
