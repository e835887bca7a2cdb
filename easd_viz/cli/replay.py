"""``replay``: what a recorded run's verdicts would be under other knobs, and how far that is exact. Needs no model."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from easd_viz import replay, store
from easd_viz.cli import lab, options


def add_parser(verbs: Any) -> None:
    parser = verbs.add_parser("replay", help="judge a trace again under other knobs", description=__doc__)
    parser.add_argument("path", type=Path, metavar="TRACE")
    options.add_gate(parser, default=False)
    lab.add_force(parser)
    parser.add_argument("--json", action="store_true", help="a JSON object for programs")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    trace = store.load(args.path)
    gate = replay.gate_with(trace.header.config, **lab.knobs_given(args))
    found = replay.rejudge(trace, gate, dict(args.force))
    print(json.dumps(as_json(found)) if args.json else "\n".join(lines(found)))
    return 0


def as_json(found: replay.Replay) -> dict[str, Any]:
    """``{"gate", "boundary", "changes"}``; the boundary is null where the knobs change nothing."""
    return {
        "gate": lab.plain(asdict(found.gate)),
        "boundary": None if found.boundary is None else asdict(found.boundary),
        "changes": [asdict(change) for change in found.changes],
    }


def lines(found: replay.Replay) -> list[str]:
    """The boundary, then one line per changed verdict."""
    out = [boundary_words(found.boundary)]
    for c in found.changes:
        why = " and ".join(c.flipped_by)
        out.append(
            f"step {c.step}, position {c.position}: {c.context!r} + {c.text!r}: {c.was} → {c.now} by {why} ({WORDS[c.region]})"
        )
    return out


WORDS = {"exact": "exact", "in_round": "in-round exact", "counterfactual": "counterfactual"}


def boundary_words(boundary: replay.Boundary | None) -> str:
    if boundary is None:
        return "no verdict changes: the run is exact under these knobs"
    what = "its replacement is drawn by the other rule" if boundary.reason == "resample" else "its verdict changes"
    rest = f", and in-round exact up to position {boundary.last_known}" if boundary.goes_on else ""
    return (
        f"exact up to position {boundary.position} in step {boundary.step}, where {what}{rest}; "
        f"all later is counterfactual: re-run from step {boundary.step}"
    )
