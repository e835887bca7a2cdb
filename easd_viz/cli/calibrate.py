"""``calibrate``: thresholds from recorded runs, by a percentile of the entropies or by a gate rate to aim at. Needs no model.

Only drafted tokens on the path count, never discarded ones, never the prompt.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from easd_viz import UserError, calibrate, replay, store
from easd_viz.cli import lab


def add_parser(verbs: Any) -> None:
    parser = verbs.add_parser("calibrate", help="pick thresholds from recorded runs", description=__doc__)
    parser.add_argument(
        "paths", type=Path, nargs="+", metavar="TRACES", help="trace files; a folder stands for the .jsonl files in it"
    )
    aim = parser.add_mutually_exclusive_group(required=True)
    aim.add_argument("--percentile", type=float, metavar="P", help="of both entropies, 0 to 100 (the paper's way)")
    aim.add_argument("--gate-rate", type=float, metavar="R", help="share of the SD-accepted tokens to turn away, 0 to 1")
    parser.add_argument("--overlap", type=float, metavar="R", help="rho (default: as recorded)")
    parser.add_argument("-k", type=int, metavar="N", help="length of the compared lists (default: as recorded)")
    parser.add_argument("--resample", choices=("target", "exclude"), help="default: as recorded")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the bootstrap (default 0)")
    parser.add_argument("--json", action="store_true", help="a JSON object for programs")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    if args.seed < 0:
        raise UserError("--seed must be at least 0")
    traces = store.load_all(args.paths)
    calibrate.check_pool(traces)
    knobs: dict[str, Any] = {
        "k": args.k if args.k is not None else lab.recorded(traces, "k", "-k"),
        "overlap_threshold": args.overlap if args.overlap is not None else lab.recorded(traces, "overlap_threshold", "--overlap"),
        "resample": args.resample or lab.recorded(traces, "resample", "--resample"),
        "seed": args.seed,
    }
    data = replay.arrays(traces)
    if args.percentile is not None:
        found = calibrate.by_percentile(data, args.percentile, **knobs)
    else:
        found = calibrate.by_gate_rate(data, args.gate_rate, **knobs)
    print(json.dumps(asdict(found)) if args.json else "\n".join(lines(found)))
    return 0


def lines(found: calibrate.Calibration) -> list[str]:
    """The thresholds, ready to be typed again, then what they rest on."""
    rate = "undefined" if found.gate_rate is None else f"{100 * found.gate_rate:.2f} %"
    counted = f"n = {found.tokens} tokens on the path of {found.traces} traces"
    knobs = f"k = {found.k}, overlap {found.overlap_threshold:g}, resample {found.resample}"
    of = f"{found.gated} of {found.accepted_by_sd} tokens accepted by SD, on the recorded path"
    return [
        f"--draft-threshold {found.draft_threshold:.6f} --target-threshold {found.target_threshold:.6f}",
        f"draft threshold   {found.draft_threshold:.4f} nats{_interval(found.draft_interval, '')}",
        f"target threshold  {found.target_threshold:.4f} nats{_interval(found.target_interval, '')}",
        f"percentile        {found.percentile:g} of both entropies, {counted}",
        f"gate rate         {rate}: {of}, at {knobs}{_interval(found.gate_rate_interval, ' %')}",
    ]


def _interval(ends: calibrate.Interval | None, unit: str) -> str:
    if ends is None:
        return "  (no interval: it needs two traces)"
    scale = 100 if unit else 1
    return f"  (95 % over traces: {scale * ends[0]:.4f} to {scale * ends[1]:.4f}{unit})"
