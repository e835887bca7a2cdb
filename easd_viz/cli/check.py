"""``check``: validate a trace file: types, ranges, positions, and every verdict against the decision rule."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from easd_viz import store


def add_parser(verbs: Any) -> None:
    parser = verbs.add_parser("check", help="validate a trace file", description=__doc__)
    parser.add_argument("path", type=Path, metavar="PATH")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    trace = store.load(args.path)
    drafted = sum(len(step.drafted) for step in trace.steps)
    state = "cut off, valid as far as it goes" if trace.incomplete else "valid"
    print(f"{args.path.name}: {state}; {len(trace.steps)} steps, {drafted} drafted and {len(trace.token_ids)} emitted tokens")
    return 0
