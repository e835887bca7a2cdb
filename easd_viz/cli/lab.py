"""What the threshold lab's verbs share: grids, knobs as given, forced verdicts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from easd_viz import UserError
from easd_viz.replay import KNOBS
from easd_viz.trace import Outcome, Trace


def grid(text: str) -> list[float]:
    """``LO:HI:N`` (N values, ends included), or values with commas between them; ``inf`` closes the gate."""
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        low, high, count = text.split(":")
        if not 1 <= int(count) <= 10_000 or not np.isfinite([float(low), float(high)]).all():
            raise ValueError
        return [float(value) for value in np.linspace(float(low), float(high), int(count))]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither LO:HI:N nor numbers with commas between them") from None


def whole_grid(text: str) -> list[int]:
    """``LO:HI`` (every whole number), or whole numbers with commas between them."""
    try:
        if ":" not in text:
            return [int(part) for part in text.split(",")]
        low, high = map(int, text.split(":"))
        if not low <= high <= low + 100:
            raise ValueError
        return list(range(low, high + 1))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither LO:HI nor whole numbers with commas between them") from None


def forced(text: str) -> tuple[int, Outcome]:
    """``POSITION=VERDICT``."""
    position, _, verdict = text.partition("=")
    if not position.isdigit() or verdict not in ("accepted", "rejected", "gated"):
        raise argparse.ArgumentTypeError(f"{text!r} is not POSITION=VERDICT with a verdict accepted, rejected or gated")
    outcome: Outcome = next(o for o in get_args(Outcome) if o == verdict)
    return int(position), outcome


def add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--force",
        type=forced,
        metavar="POSITION=VERDICT",
        action="append",
        default=[],
        help="force the verdict at an absolute position: accepted, rejected or gated; may be given more than once",
    )


def knobs_given(args: argparse.Namespace) -> dict[str, Any]:
    """The gate's knobs that were given on the command line."""
    return {name: value for name in KNOBS if (value := getattr(args, name)) is not None}


def recorded(traces: Sequence[Trace], name: str, flag: str) -> Any:
    """A config field that is the same in all traces (raises UserError where it isn't, naming the flag to give)."""
    values = {getattr(trace.header.config, name) for trace in traces}
    if len(values) != 1:
        raise UserError(f"the traces were recorded with different values of {name} ({_listed(values)}); say which with {flag}")
    return values.pop()


def _listed(values: set[Any]) -> str:
    return ", ".join(sorted(map(str, values)))


def number(value: float) -> float | str:
    """For JSON, which has no infinity."""
    return "inf" if value == float("inf") else value


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: number(v) if isinstance(v, float) else v for name, v in values.items()}
