"""Tuning the gate on recorded runs: how often it would fire, on which tokens, and which thresholds give what.

All of it works on drafted tokens **on the path** (never discarded ones, never the prompt) and runs no model. Rates under
knobs other than the recorded ones are estimates on the recorded path: with those knobs the text itself would differ
(see ``replay``). Thresholds from percentiles of recorded entropies are EASD's own way (arXiv 2512.23765, which takes them
from a data set apart, LIMO); intervals are percentile bootstraps over traces (Efron and Tibshirani 1993, chapter 13).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easd_viz import UserError
from easd_viz.replay import GateArrays
from easd_viz.trace import Trace
from easd_viz.verify import Gate

Floats = NDArray[np.float64]
Interval = tuple[float, float]

RESAMPLES = 1000
"""Bootstrap resamples of a sweep and of a percentile."""
MOST_CELLS = 250_000
"""Cells of one sweep."""
LEVEL = 0.95
"""Coverage that bootstrap intervals aim at."""


class CalibrateError(UserError):
    """A selection of traces or a knob that no sweep or calibration can work with."""


# ---- what may be pooled ----------------------------------------------------------------------------------


def pair_name(trace: Trace) -> str:
    """``draft → target``, by their ids."""
    draft, target = trace.header.draft_model, trace.header.target_model
    return f"{'no draft' if draft is None else draft.id} → {'no target' if target is None else target.id}"


def check_pool(traces: Sequence[Trace]) -> None:
    """Raise CalibrateError unless the traces can be calibrated on together: at least one, all of one pair and one temperature."""
    if not traces:
        raise CalibrateError("no trace is selected; calibration needs at least one recorded run of mode easd or sd")
    pairs = sorted({pair_name(t) for t in traces})
    if len(pairs) > 1:
        raise CalibrateError(
            f"the traces are of {len(pairs)} different pairs ({'; '.join(pairs)}); calibrate on one pair at a time"
        )
    temperatures = sorted({t.header.config.temperature for t in traces})
    if len(temperatures) > 1 and {0.0, 1.0} != set(temperatures):
        found = ", ".join(f"{t:g}" for t in temperatures)
        raise CalibrateError(
            f"the traces were recorded at different temperatures ({found}), and entropies depend on it; calibrate on one"
        )


def check_decided(data: GateArrays) -> None:
    """Raise CalibrateError where there is nothing to count."""
    if data.traces == 0:
        raise CalibrateError("no trace is selected; choose at least one recorded run of mode easd or sd")
    if len(data) == 0:
        raise CalibrateError(
            "the selected traces hold no decided token (draft-only, target-only or empty runs); record one of mode easd or sd"
        )


def check_threshold(name: str, value: float) -> None:
    """Raise CalibrateError unless a threshold is a number of at least 0; infinite closes the gate and is fine."""
    if math.isnan(value) or value < 0:
        raise CalibrateError(f"{name} must be a number of at least 0 nats (inf closes the gate); it is {value:g}")


def check_overlap(value: float) -> None:
    if not 0 <= value <= 1:
        raise CalibrateError(f"the overlap threshold must be from 0 to 1; it is {value:g}")


# ---- sweep -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sweep:
    """Gate rates over a grid of thresholds, for one k and rho: an estimate on the recorded path."""

    draft_thresholds: Floats
    """[D] nats."""
    target_thresholds: Floats
    """[T] nats."""
    k: int
    overlap_threshold: float
    resample: str
    gated: NDArray[np.int64]
    """[D, T] tokens that would be gated."""
    accepted_by_sd: int
    """n: what each cell is divided by. Tokens that SD accepted, gated ones included."""
    traces: int
    """How many traces those tokens come from."""
    low: Floats | None
    """[D, T] lower end of the bootstrap interval over traces; None with fewer than two traces or where not asked for."""
    high: Floats | None

    @property
    def rate(self) -> Floats:
        """[D, T] gated / accepted by SD; NaN where SD accepted nothing."""
        n = self.accepted_by_sd
        return self.gated / n if n else np.full(self.gated.shape, np.nan)


def sweep(
    data: GateArrays,
    draft_thresholds: ArrayLike,
    target_thresholds: ArrayLike,
    *,
    k: int,
    overlap_threshold: float,
    resample: str = "target",
    resamples: int = 0,
    seed: int = 0,
) -> Sweep:
    """The gate rate of every pair of thresholds, each condition ``>=``, without a loop over cells.

    A token passes the first i of the sorted thresholds, i = how many are <= its entropy; a histogram of (i, j) summed from
    the far corner counts what passes both. ``resamples`` > 0 adds a bootstrap interval over traces.
    Raises CalibrateError (nothing to count, an impossible threshold) or ReplayError (k that was not recorded).
    """
    check_decided(data)
    check_overlap(overlap_threshold)
    draft, target = _thresholds("draft threshold", draft_thresholds), _thresholds("target threshold", target_thresholds)
    if len(draft) * len(target) > MOST_CELLS:
        raise CalibrateError(
            f"the grid has {len(draft)} x {len(target)} cells; at most {MOST_CELLS} make sense, take fewer values"
        )
    able = data.accepted_by_sd & (data.overlap_at(k) >= overlap_threshold) & data.can_resample(resample)
    number = _renumbered(data.trace)
    each = _passing_both(data.draft_entropy[able], data.target_entropy[able], draft, target, number[able], number.max() + 1)
    decided = np.bincount(number[data.accepted_by_sd], minlength=len(each))
    low, high = (None, None) if resamples == 0 or len(each) < 2 else _rate_interval(each, decided, resamples, seed)
    return Sweep(
        draft, target, k, overlap_threshold, resample, each.sum(axis=0), int(data.accepted_by_sd.sum()), len(each), low, high
    )


def _thresholds(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64).reshape(-1)
    if not len(array):
        raise CalibrateError(f"no {name} was given; a sweep needs at least one")
    for value in array:
        check_threshold(name, float(value))
    return array


def _renumbered(trace: NDArray[np.int64]) -> NDArray[np.int64]:
    """Trace numbers from 0 without gaps: only traces with a row."""
    return np.unique(trace, return_inverse=True)[1].astype(np.int64)


def _passing_both(
    draft_entropy: Floats, target_entropy: Floats, draft: Floats, target: Floats, number: NDArray[np.int64], traces: int
) -> NDArray[np.int64]:
    """[traces, D, T] how many tokens of each trace have both entropies at or above both thresholds."""
    order_d, order_t = np.argsort(draft), np.argsort(target)
    i = np.searchsorted(draft[order_d], draft_entropy, side="right")
    j = np.searchsorted(target[order_t], target_entropy, side="right")
    shape = (traces, len(draft) + 1, len(target) + 1)
    cells = np.ravel_multi_index((number, i, j), shape)
    histogram = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
    passing = histogram[:, ::-1, ::-1].cumsum(axis=1).cumsum(axis=2)[:, ::-1, ::-1][:, 1:, 1:]
    out = np.empty_like(passing)
    out[:, order_d[:, None], order_t[None, :]] = passing
    return out


def _rate_interval(gated: NDArray[np.int64], decided: NDArray[np.int64], resamples: int, seed: int) -> tuple[Floats, Floats]:
    """Bootstrap over traces of pooled gated / accepted by SD. gated: [traces, D, T], decided: [traces] -> [D, T] each."""
    weights = _weights(len(gated), resamples, seed)
    denominator = weights @ decided
    weights, denominator = weights[denominator > 0], denominator[denominator > 0, None]
    cells = gated.reshape(len(gated), -1).astype(np.float64)
    at_once = max(1, 4_000_000 // resamples)  # cells; keeps memory bounded
    ends = [_ends(weights @ cells[:, i : i + at_once] / denominator) for i in range(0, cells.shape[1], at_once)]
    low, high = (np.concatenate([end[side] for end in ends]).reshape(gated.shape[1:]) for side in (0, 1))
    return low, high


def _weights(traces: int, resamples: int, seed: int) -> Floats:
    """[resamples, traces] how often each trace was drawn, with replacement."""
    return np.random.default_rng(seed).multinomial(traces, np.full(traces, 1 / traces), size=resamples).astype(np.float64)


def _ends(values: Floats) -> tuple[Floats, Floats]:
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(values, [tail, 1 - tail], axis=0)
    return low, high


def rates_over_k(data: GateArrays, gate: Gate) -> Floats:
    """[20] the gate rate at k = 1..20 under a gate's other knobs; NaN where SD accepted nothing."""
    check_decided(data)
    n = int(data.accepted_by_sd.sum())
    counts = [int(data.gated(replace(gate, k=k)).sum()) for k in range(1, data.overlap.shape[1] + 1)]
    return np.array(counts) / n if n else np.full(len(counts), np.nan)


def percentile_rank(entropies: Floats, threshold: float) -> float:
    """Percent of the entropies below a threshold: an axis in percentiles of the loaded traces."""
    return float(100 * np.mean(entropies < threshold)) if len(entropies) else math.nan


def quadrants(data: GateArrays, draft_threshold: float, target_threshold: float) -> dict[str, float]:
    """Share of the drafted tokens on the path in each quadrant of the gate plane, named by who is uncertain."""
    check_decided(data)
    draft, target = data.draft_entropy >= draft_threshold, data.target_entropy >= target_threshold
    return {
        "neither": float(np.mean(~draft & ~target)),
        "draft only": float(np.mean(draft & ~target)),
        "target only": float(np.mean(~draft & target)),
        "both": float(np.mean(draft & target)),
    }


# ---- calibration -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds picked on some traces, with what they were picked from."""

    draft_threshold: float
    """nats."""
    target_threshold: float
    draft_interval: Interval | None
    """95 % bootstrap interval over traces; None with fewer than two traces."""
    target_interval: Interval | None
    percentile: float
    """The percentile of both entropies that the thresholds are."""
    gate_rate: float | None
    """On the same traces, an estimate on the recorded path; None where SD accepted nothing."""
    gate_rate_interval: Interval | None
    """Of the gate rate at these fixed thresholds."""
    gated: int
    accepted_by_sd: int
    tokens: int
    """n: drafted tokens on the path whose entropies were counted."""
    traces: int
    k: int
    overlap_threshold: float
    resample: str


def by_percentile(
    data: GateArrays,
    percentile: float,
    *,
    k: int,
    overlap_threshold: float,
    resample: str = "target",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Calibration:
    """Both thresholds at the same percentile of their own entropies (EASD, arXiv 2512.23765), linear between order statistics.

    Raises CalibrateError where the percentile is outside [0, 100] or no token was decided.
    """
    check_decided(data)
    if not 0 <= percentile <= 100:
        raise CalibrateError(f"the percentile must be from 0 to 100; it is {percentile:g}")
    check_overlap(overlap_threshold)
    draft, target = (float(percentiles(v, [percentile])[0]) for v in (data.draft_entropy, data.target_entropy))
    number = _renumbered(data.trace)
    intervals: list[Interval | None] = [None, None]
    if resamples and (traces := int(number.max()) + 1) > 1:
        weights = _weights(traces, resamples, seed)
        for which, values in enumerate((data.draft_entropy, data.target_entropy)):
            drawn = _weighted_percentiles(values, number, weights, np.array([percentile]))[:, 0]
            low, high = _ends(drawn)
            intervals[which] = (float(low), float(high))
    at = sweep(
        data, [draft], [target], k=k, overlap_threshold=overlap_threshold, resample=resample, resamples=resamples, seed=seed
    )
    return _calibration(data, at, percentile, intervals[0], intervals[1])


def by_gate_rate(
    data: GateArrays,
    gate_rate: float,
    *,
    k: int,
    overlap_threshold: float,
    resample: str = "target",
    resamples: int = 200,
    seed: int = 0,
) -> Calibration:
    """The pair of thresholds at one common percentile, in tenths, whose gate rate on these traces is nearest to the aim.

    Of percentiles equally near, the highest. Raises CalibrateError where the aim is outside [0, 1] or above
    what the overlap condition alone leaves.
    """
    check_decided(data)
    check_overlap(overlap_threshold)
    if not 0 <= gate_rate <= 1:
        raise CalibrateError(f"the gate rate to aim at must be from 0 to 1; it is {gate_rate:g}")
    able = data.accepted_by_sd & (data.overlap_at(k) >= overlap_threshold) & data.can_resample(resample)
    n = int(data.accepted_by_sd.sum())
    if n == 0:
        raise CalibrateError("SD accepted no token in the selected traces, so they have no gate rate; choose other traces")
    if able.sum() / n < gate_rate:
        raise CalibrateError(
            f"no thresholds reach a gate rate of {gate_rate:g}: with k = {k} and an overlap of at least {overlap_threshold:g} "
            f"it is at most {able.sum() / n:.3f} on these traces; lower the overlap threshold or the aim"
        )
    number = _renumbered(data.trace)
    ones = np.ones((1, int(number.max()) + 1))
    best = int(_nearest_percentiles(data, able, number, ones, gate_rate)[0])
    percentile = float(PERCENTILES[best])
    intervals: list[Interval | None] = [None, None]
    if resamples and ones.shape[1] > 1:
        weights = _weights(ones.shape[1], resamples, seed)
        picked = _nearest_percentiles(data, able, number, weights, gate_rate)
        for which, values in enumerate((data.draft_entropy, data.target_entropy)):
            grid = _weighted_percentiles(values, number, weights, PERCENTILES)
            low, high = _ends(grid[np.arange(resamples), picked])
            intervals[which] = (float(low), float(high))
    draft, target = (float(percentiles(v, [percentile])[0]) for v in (data.draft_entropy, data.target_entropy))
    at = sweep(
        data, [draft], [target], k=k, overlap_threshold=overlap_threshold, resample=resample, resamples=resamples, seed=seed
    )
    return _calibration(data, at, percentile, intervals[0], intervals[1])


PERCENTILES: Floats = np.arange(1001) / 10
"""What ``by_gate_rate`` tries, 0 to 100 in tenths."""


def _nearest_percentiles(
    data: GateArrays, able: NDArray[np.bool_], number: NDArray[np.int64], weights: Floats, aim: float
) -> NDArray[np.int64]:
    """[resamples] index in PERCENTILES of the gate rate nearest to the aim, in each resample of traces.

    The gate rate falls as the common percentile rises, so a token is gated up to the last percentile that both its
    entropies reach; counting tokens by that index and summing from the far end gives the rate at every percentile.
    """
    grids = [_weighted_percentiles(v, number, weights, PERCENTILES) for v in (data.draft_entropy, data.target_entropy)]
    decided = weights @ np.bincount(number[data.accepted_by_sd], minlength=weights.shape[1])
    out = np.zeros(len(weights), dtype=np.int64)
    for row, weight in enumerate(weights):
        last = np.minimum(
            np.searchsorted(grids[0][row], data.draft_entropy[able], side="right"),
            np.searchsorted(grids[1][row], data.target_entropy[able], side="right"),
        )
        histogram = np.bincount(last, weights=weight[number[able]], minlength=len(PERCENTILES) + 1)
        gated = histogram[::-1].cumsum()[::-1][1:]
        distance = np.abs(gated / max(decided[row], 1.0) - aim)
        out[row] = len(distance) - 1 - int(np.argmin(distance[::-1]))
    return out


def percentiles(values: Floats, at: ArrayLike) -> Floats:
    """[percentiles] of values, each from 0 to 100, linear between order statistics.

    A percentile that falls on a value is that value to the last bit, so that ``>=`` counts its token: ``np.percentile`` may
    give a neighbouring float there (of 51 values it looks for the 28th percentile at 14.000000000000002).
    """
    number = np.zeros(len(values), dtype=np.int64)
    found: Floats = _weighted_percentiles(values, number, np.ones((1, 1)), np.asarray(at, dtype=np.float64))[0]
    return found


_ON_A_VALUE = 1e-9
"""How near an order statistic's rank a computed rank is taken for it: rounding of rank x percentile stays far below."""


def _weighted_percentiles(values: Floats, number: NDArray[np.int64], weights: Floats, at: Floats) -> Floats:
    """[resamples, percentiles] as ``percentiles`` gives them, every value repeated as often as its trace was drawn."""
    order = np.argsort(values, kind="stable")
    ranked, owner = values[order], number[order]
    out = np.empty((len(weights), len(at)))
    for row, weight in enumerate(weights):
        up_to = weight[owner].cumsum()  # how many drawn values end at or before each ranked one
        rank = (up_to[-1] - 1) * at / 100
        whole = np.rint(rank)
        rank = np.where(np.abs(rank - whole) < _ON_A_VALUE, whole, rank)
        below = np.floor(rank)
        low = ranked[np.searchsorted(up_to, below, side="right")]
        high = ranked[np.searchsorted(up_to, np.minimum(below + 1, up_to[-1] - 1), side="right")]
        part = rank - below
        out[row] = np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))
    return out


def _calibration(data: GateArrays, at: Sweep, percentile: float, draft: Interval | None, target: Interval | None) -> Calibration:
    n = at.accepted_by_sd
    interval = None if at.low is None or at.high is None else (float(at.low[0, 0]), float(at.high[0, 0]))
    return Calibration(
        draft_threshold=float(at.draft_thresholds[0]),
        target_threshold=float(at.target_thresholds[0]),
        draft_interval=draft,
        target_interval=target,
        percentile=percentile,
        gate_rate=float(at.rate[0, 0]) if n else None,
        gate_rate_interval=interval,
        gated=int(at.gated[0, 0]),
        accepted_by_sd=n,
        tokens=len(data),
        traces=at.traces,
        k=at.k,
        overlap_threshold=at.overlap_threshold,
        resample=at.resample,
    )


# ---- which tokens ----------------------------------------------------------------------------------------

TokenClass = Literal["number", "word start", "word piece", "punctuation", "white space"]


@dataclass(frozen=True, slots=True)
class TokenRow:
    """One token text over all traces: how often the gate turns it away."""

    text: str
    token_class: TokenClass
    decided: int
    """Times it was drafted on the path."""
    accepted_by_sd: int
    gated: int
    nearly: int
    """Accepted, but within ``NEARLY`` nats and one shared token of being gated."""
    mean_draft_entropy: float
    """nats, over its gated and nearly gated places."""
    mean_target_entropy: float
    mean_offset: float
    """Mean place in the generated text, in tokens from 0, over the same."""


NEARLY = 0.25
"""nats: how far below a threshold counts as nearly."""


def token_table(data: GateArrays, gate: Gate) -> list[TokenRow]:
    """Every token text that was gated or nearly gated, the most gated first."""
    check_decided(data)
    gated, nearly = data.gated(gate), nearly_gated(data, gate)
    rows: dict[tuple[str, TokenClass], list[int]] = defaultdict(list)
    previous: int | None = None
    for row, token in enumerate(data.tokens):
        before = data.tokens[previous].text if previous is not None and _follows(data, previous, row) else ""
        rows[(token.text, token_class(token.text, before))].append(row)
        previous = row
    out: list[TokenRow] = []
    for (text, kind), members in rows.items():
        index = np.array(members)
        hit = index[gated[index] | nearly[index]]
        if len(hit):
            out.append(_token_row(data, text, kind, index, hit, gated, nearly))
    return sorted(out, key=lambda r: (-r.gated, -r.nearly, r.text))


def nearly_gated(data: GateArrays, gate: Gate) -> NDArray[np.bool_]:
    """[n] not gated, but it would be with both thresholds NEARLY nats lower and one more shared token."""
    softer = replace(
        gate,
        draft_threshold=max(gate.draft_threshold - NEARLY, 0.0),
        target_threshold=max(gate.target_threshold - NEARLY, 0.0),
        overlap_threshold=max(gate.overlap_threshold - 1 / gate.k - 1e-9, 0.0),
    )
    return data.gated(softer) & ~data.gated(gate)


def _follows(data: GateArrays, a: int, b: int) -> bool:
    """Row b's token stands directly behind row a's, which was kept."""
    kept = data.tokens[a].outcome == "accepted"
    return bool(kept and data.trace[a] == data.trace[b] and data.position[b] == data.position[a] + 1)


def _token_row(
    data: GateArrays,
    text: str,
    kind: TokenClass,
    index: NDArray[np.int64],
    hit: NDArray[np.int64],
    gated: NDArray[np.bool_],
    nearly: NDArray[np.bool_],
) -> TokenRow:
    return TokenRow(
        text=text,
        token_class=kind,
        decided=len(index),
        accepted_by_sd=int(data.accepted_by_sd[index].sum()),
        gated=int(gated[index].sum()),
        nearly=int(nearly[index].sum()),
        mean_draft_entropy=float(data.draft_entropy[hit].mean()),
        mean_target_entropy=float(data.target_entropy[hit].mean()),
        mean_offset=float(data.offset[hit].mean()),
    )


_CONTROL = re.compile(r"<\|?[\w ]+\|?>")
_NUMBER = re.compile(r"\s*[-+]?\d+([.,]\d+)*\s*")


def token_class(text: str, before: str = "") -> TokenClass:
    """A part-of-speech-like class from a token's text and the text in front of it (which tells a start from a piece)."""
    if not text.strip():
        return "white space"
    if _NUMBER.fullmatch(text):
        return "number"
    if _CONTROL.fullmatch(text) or not any(c.isalnum() or c == "\N{REPLACEMENT CHARACTER}" for c in text):
        return "punctuation"
    starts = text[0].isspace() or (before != "" and not before[-1].isalnum())
    return "word start" if starts else "word piece"


# ---- distribution shift ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shift:
    """How far a run's gate takes the law of its tokens from the target's own, in total variation (recorded per token)."""

    trace: int
    decided: int
    """Drafted tokens on the path."""
    gated: int
    at_gated: float
    """Sum of TV over gated positions."""
    open: int
    """Positions where the gate's conditions hold, whatever SD says of the drafted token: the emitted law differs at each."""
    at_open: float
    """Sum of TV over those. Its mean over runs bounds how far the law of whole texts can be from the target's."""
    largest: float
    """Largest TV at an open position; 0 where there is none."""


def shift(data: GateArrays, gate: Gate) -> list[Shift]:
    """One row per trace with a decided token. Under knobs other than the recorded ones, an estimate on the recorded path."""
    check_decided(data)
    tv = data.tv_exclude if gate.resample == "exclude" else data.tv_target
    gated, is_open = data.gated(gate), data.open(gate)
    out: list[Shift] = []
    for number in np.unique(data.trace):
        mine = data.trace == number
        at = tv[mine & is_open]
        out.append(
            Shift(
                trace=int(number),
                decided=int(mine.sum()),
                gated=int((mine & gated).sum()),
                at_gated=float(tv[mine & gated].sum()),
                open=len(at),
                at_open=float(at.sum()),
                largest=float(at.max()) if len(at) else 0.0,
            )
        )
    return out
