"""``sweep``: the gate rate over a grid of thresholds, as an estimate on the recorded path. Needs no model."""

from __future__ import annotations

import argparse
import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from easd_viz import UserError, calibrate, replay, store
from easd_viz.cli import lab

COLUMNS = (
    *("draft_threshold", "target_threshold", "overlap_threshold", "k", "resample"),
    *("gated", "accepted_by_sd", "gate_rate", "gate_rate_low", "gate_rate_high", "traces"),
)


def add_parser(verbs: Any) -> None:
    parser = verbs.add_parser("sweep", help="gate rates over a grid of thresholds", description=__doc__)
    parser.add_argument(
        "paths", type=Path, nargs="+", metavar="TRACES", help="trace files; a folder stands for the .jsonl files in it"
    )
    for side in ("draft", "target"):
        parser.add_argument(
            f"--{side}-threshold",
            type=lab.grid,
            required=True,
            metavar="LO:HI:N",
            help=f"tau_{side}, nats: LO:HI:N, or values with commas between them",
        )
    parser.add_argument("--overlap", type=lab.grid, metavar="R", help="rho: a value, values or LO:HI:N (default: as recorded)")
    parser.add_argument("-k", type=lab.whole_grid, metavar="N", help="a value, values or LO:HI (default: as recorded)")
    parser.add_argument("--resample", choices=("target", "exclude"), help="default: as recorded")
    parser.add_argument(
        "--bootstrap", type=int, default=calibrate.RESAMPLES, metavar="N", help="resamples of traces, 0: no interval"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the bootstrap (default 0)")
    parser.add_argument("--out", type=Path, required=True, metavar="grid.csv", help="where the table goes")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    if not 0 <= args.bootstrap <= 100_000 or args.seed < 0:
        raise UserError("--bootstrap must be from 0 to 100000, --seed at least 0")
    traces = store.load_all(args.paths)
    overlaps = args.overlap or [lab.recorded(traces, "overlap_threshold", "--overlap")]
    ks = args.k or [lab.recorded(traces, "k", "-k")]
    resample = args.resample or lab.recorded(traces, "resample", "--resample")
    data = replay.arrays(traces)
    sweeps = [
        calibrate.sweep(
            data,
            args.draft_threshold,
            args.target_threshold,
            k=k,
            overlap_threshold=overlap,
            resample=resample,
            resamples=args.bootstrap,
            seed=args.seed,
        )
        for k in ks
        for overlap in overlaps
    ]
    write(args.out, sweeps)
    cells = sum(s.gated.size for s in sweeps)
    counted = f"n = {sweeps[0].accepted_by_sd} tokens accepted by SD in {sweeps[0].traces} traces"
    print(f"{args.out}: {cells} cells; {counted}; estimates on the recorded path")
    return 0


def write(path: Path, sweeps: list[calibrate.Sweep]) -> None:
    """One row per cell; the file is whole or not there."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in sweeps:
        writer.writerows(_rows(each))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(table.getvalue(), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        part.unlink(missing_ok=True)


def _rows(sweep: calibrate.Sweep) -> Iterator[tuple[Any, ...]]:
    n, rate = sweep.accepted_by_sd, sweep.rate
    for i, draft in enumerate(sweep.draft_thresholds.tolist()):
        for j, target in enumerate(sweep.target_thresholds.tolist()):
            shown = float(rate[i, j]) if n else ""
            low, high = ("", "") if sweep.low is None or sweep.high is None else (float(sweep.low[i, j]), float(sweep.high[i, j]))
            knobs = (draft, target, sweep.overlap_threshold, sweep.k, sweep.resample)
            yield (*knobs, int(sweep.gated[i, j]), n, shown, low, high, sweep.traces)
