"""``show``: a trace's text and every metric, each with the counts it comes from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from easd_viz import metrics, store
from easd_viz.trace import Trace, config_json, emitted_frame


def add_parser(verbs: Any) -> None:
    parser = verbs.add_parser("show", help="print a trace's metrics", description=__doc__)
    parser.add_argument("path", type=Path, metavar="PATH")
    parser.add_argument("--json", action="store_true", help="a flat JSON object for programs")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    trace = store.load(args.path)
    found = metrics.summarise(trace)
    if args.json:
        print(json.dumps(metrics.flat(found)))
        return 0
    print("\n".join(_about(trace)))
    for row in metrics.rows(found):
        print(f"{row.label:<26}{row.text:>18}   {row.counts}")
    return 0


def _about(trace: Trace) -> list[str]:
    """Models, config, how it ended, and the text."""
    header = trace.header
    models = [f"{m.id} ({m.dtype}, {m.device})" for m in (header.draft_model, header.target_model) if m is not None]
    knobs = ", ".join(f"{name} {value}" for name, value in config_json(header.config).items())
    ending = "incomplete: cut off, or still being written" if trace.footer is None else f"ended by {trace.footer.stop_reason}"
    text = "".join(emitted_frame(trace)["text"]) if trace.footer is None else trace.footer.text
    return [" → ".join(models), knobs, ending, "", text, ""]
