"""A comparison and its luck test -> the data that the browser's Compare tab draws from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from easd_viz import luck
from easd_viz.compare import MODE_NAMES, Decision, Fork, difference_words, fork, greedy_note, lane_words, table
from easd_viz.trace import Trace
from easd_viz.views.data import ViewModel

LETTERS = ("A", "B", "C", "D")
"""Lanes by name; the others are compared with the first."""

EMPTY: dict[str, Any] = {"lanes": [], "forks": [], "notes": [], "table": []}


def lane_name(trace: Trace) -> str:
    return MODE_NAMES[trace.header.config.mode]


def comparison(views: Sequence[ViewModel]) -> dict[str, Any]:
    """What the ``comparison`` view takes: lanes with their traces, where they part, notes, the table of metrics."""
    traces = [view.trace for view in views]
    lanes = [_lane(letter, view) for letter, view in zip(LETTERS, views, strict=False)]
    others = [(letter, trace) for letter, trace in zip(LETTERS, traces, strict=False) if trace.steps][1:]
    forks = [_fork(letter, other, fork(traces[0], other)) for letter, other in others]
    note = greedy_note([trace.header.config for trace in traces])
    return {"lanes": lanes, "forks": forks, "notes": [note] if note else [], "table": [asdict(line) for line in table(traces)]}


def _lane(letter: str, view: ViewModel) -> dict[str, Any]:
    config = view.trace.header.config
    return {"letter": letter, "name": MODE_NAMES[config.mode], "about": lane_words(config), "view": view.value}


def _fork(letter: str, other: Trace, found: Fork) -> dict[str, Any]:
    return {
        "lane": letter,
        "name": lane_name(other),
        "same": found.same,
        "position": len(other.header.prompt.token_ids) + found.same,
        "parted": found.parted,
        "first": _decision(found.first),
        "second": _decision(found.second),
        "silent": None if found.silent is None else [_decision(each) for each in found.silent],
        "why": found.why,
    }


def _decision(decision: Decision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    return {"key": decision.key, "kind": decision.kind, "step": decision.step, "position": decision.position}


# ---- is it luck -------------------------------------------------------------------------------------------


def luck_test(names: Sequence[str], lanes: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """What the ``luck`` view takes. ``lanes``: per lane, per seed, the metrics as ``metrics.flat`` names them."""
    seeds = min(len(lane) for lane in lanes)
    comparisons = [
        {"lane": letter, "name": name, "rows": _luck_rows(lanes[0][:seeds], other[:seeds], letter)}
        for letter, name, other in zip(LETTERS[1:], names[1:], lanes[1:], strict=False)
    ]
    return {"seeds": seeds, "comparisons": comparisons}


def _luck_rows(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]], letter: str) -> list[dict[str, Any]]:
    rows = []
    for key, (label, unit) in luck.UNITS.items():
        found = luck.difference([run[key] for run in first], [run[key] for run in second])
        if found is not None:
            rows.append({"key": key, "label": label, **_luck_row(label, unit, found, letter)})
    return rows


def _luck_row(label: str, unit: str, found: luck.Difference, letter: str) -> dict[str, Any]:
    signed = [_signed(value, unit) for value in (found.mean, found.low, found.high)]
    return {
        "first": _plain(found.mean_first, unit),
        "second": _plain(found.mean_second, unit),
        "mean": found.mean,
        "low": found.low,
        "high": found.high,
        "text": signed[0],
        "interval": f"{luck.LEVEL:.0%} from {signed[1]} to {signed[2]}",
        "sentence": luck.sentence(label, found, "lane A", f"lane {letter}"),
        "zero": found.contains_zero,
    }


def _plain(value: float, unit: str) -> str:
    return f"{100 * value:.1f} %" if unit == "%" else f"{value:.2f} {unit}"


def _signed(value: float, unit: str) -> str:
    if value == 0:
        return "0"
    return f"{value:+.2f}".replace("-", "−") if unit != "%" else difference_words(value, 0, "%")
