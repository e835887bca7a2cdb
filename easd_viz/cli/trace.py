"""``trace``: run a pair on one prompt or several and write what happened."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from easd_viz import UserError, store
from easd_viz.cli import options
from easd_viz.cli.progress import LoadBar
from easd_viz.trace import Config, StopReason, Trace

if TYPE_CHECKING:
    from easd_viz.models import Pair


def add_parser(verbs: Any) -> None:
    parser = verbs.add_parser("trace", help="run a pair and record it", description=__doc__)
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT", help="one prompt; --out is a file")
    prompt.add_argument("--prompts", metavar="FILE.jsonl", type=Path, help='prompts in the field "prompt"; --out is a folder')
    options.add_pair(parser)
    options.add_run(parser)
    options.add_gate(parser)
    parser.add_argument("--raw", action="store_true", help="the prompt as it is, without the chat template")
    parser.add_argument("--out", metavar="PATH", type=Path, required=True, help="where the trace goes")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    config = options.config_of(args)
    prompts = [args.prompt] if args.prompts is None else read_prompts(args.prompts)
    _check_out(args.out, several=args.prompts is not None)
    from easd_viz.models import PairSpec, load_pair

    with LoadBar() as bar:
        pair = load_pair(PairSpec.parse(args.pair), dtype=args.dtype, device=args.device, progress=bar)
    paths = [args.out] if args.prompts is None else [args.out / f"{i:04d}.jsonl" for i in range(1, len(prompts) + 1)]
    _record_all(pair, prompts, config, args.raw, paths)
    return 0


def read_prompts(path: Path) -> list[str]:
    """The ``prompt`` field of each line of a JSON Lines file (raises UserError naming the line)."""
    return [record["prompt"] for record in read_prompt_records(path)]


def read_prompt_records(path: Path) -> list[dict[str, Any]]:
    """Each line's object; all have a non-empty string ``prompt``."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as text ({error})") from None
    out: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            fits = isinstance(record["prompt"], str) and record["prompt"] != ""
        except (ValueError, KeyError, TypeError):
            fits = False
        if not fits:
            raise UserError(f'{path}: line {number} must be an object with a non-empty string in its field "prompt"')
        out.append(record)
    if not out:
        raise UserError(f"{path}: has no prompts; give one JSON object a line, with a field prompt")
    return out


def _check_out(out: Path, *, several: bool) -> None:
    if several and out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: is a file; several prompts need a folder")
    if not several and out.is_dir():
        raise UserError(f"--out {out}: is a folder; one prompt needs a file name, such as {out / 'trace.jsonl'}")


def _record_all(pair: Pair, prompts: Sequence[str], config: Config, raw: bool, paths: Sequence[Path]) -> None:
    with tqdm(total=len(prompts) * config.max_new_tokens, unit="token", desc="running") as bar:
        for number, (text, path) in enumerate(zip(prompts, paths, strict=True), start=1):
            bar.set_postfix_str(f"prompt {number} of {len(prompts)}")
            _record_one(pair, text, config, raw, path, bar)
            bar.n = number * config.max_new_tokens
            bar.refresh()


def _record_one(pair: Pair, text: str, config: Config, raw: bool, path: Path, bar: tqdm[Any]) -> None:
    """Run one prompt and write its trace, also where it is interrupted or fails on the way."""
    from easd_viz.record import encode_prompt, record

    trace: Trace | None = None
    before = bar.n
    try:
        for trace in record(pair, encode_prompt(pair, text, not raw), config):
            bar.n = before + len(trace.token_ids)
            bar.refresh()
    except (KeyboardInterrupt, UserError) as error:
        if trace is not None and trace.steps:
            reason: StopReason = "stopped" if isinstance(error, KeyboardInterrupt) else "error"
            store.save(trace.finished(reason), path)
        raise
    assert trace is not None
    store.save(trace, path)
