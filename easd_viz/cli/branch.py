"""``branch``: take a recorded run up again from one of its steps, with other knobs or a verdict forced. Runs the pair."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tqdm import tqdm

from easd_viz import UserError, branch, store
from easd_viz.cli import lab, options
from easd_viz.cli.progress import LoadBar


def add_parser(verbs: Any) -> None:
    parser = verbs.add_parser("branch", help="re-run a trace from one of its steps", description=__doc__)
    parser.add_argument("path", type=Path, metavar="TRACE")
    parser.add_argument(
        "--from", dest="step", type=int, required=True, metavar="STEP", help="the first step to be run anew, from 0"
    )
    options.add_gate(parser, default=False)
    lab.add_force(parser)
    parser.add_argument("--pair", metavar="NAME", help='"demo", or DRAFT,TARGET (default: as recorded)')
    parser.add_argument("--dtype", choices=("auto", "float32", "bfloat16", "float16"), help="default: as recorded")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default auto)")
    parser.add_argument("--out", type=Path, required=True, metavar="PATH", help="where the branch's trace goes")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    if args.out.is_dir():
        raise UserError(f"--out {args.out}: is a folder; a branch needs a file name, such as {args.out / 'branch.jsonl'}")
    trace = store.load(args.path)
    planned = branch.plan(trace, args.step, lab.knobs_given(args), dict(args.force))
    from easd_viz.models import PairSpec, load_pair

    name = args.pair or branch.pair_name(trace)
    with LoadBar() as bar:
        pair = load_pair(PairSpec.parse(name), dtype=args.dtype or branch.dtype_of(trace), device=args.device, progress=bar)
    made = trace
    with tqdm(total=planned.config.max_new_tokens, unit="token", desc="running") as shown:
        for made in branch.run(pair, planned):
            shown.n = len(made.token_ids)
            shown.refresh()
    store.save(made, args.out)
    size = f"{len(made.token_ids)} tokens in {len(made.steps)} steps"
    print(f"{args.out}: branch of {trace.fingerprint} from step {args.step}: {size}")
    return 0
