"""``overlap``: how well a draft fits a target: mean sum min(p, q) on the target's own answers, and what a draft step costs.

The target answers each prompt alone; both models then read the answers. Use it to choose a draft for a target. A line may bring
the target's own answer, given before at the same temperature, as token ids in the field "answer_ids": that is much quicker.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from easd_viz import UserError
from easd_viz.cli import options
from easd_viz.cli.progress import LoadBar
from easd_viz.cli.trace import read_prompt_records
from easd_viz.trace import Config

if TYPE_CHECKING:
    from easd_viz.models import Pair
    from easd_viz.overlap import Answer, Fit, StepTimes

PERCENTILES = (50, 75, 80, 90, 95)


def add_parser(verbs: Any) -> None:
    parser = verbs.add_parser("overlap", help="measure how well a draft fits a target", description=__doc__)
    options.add_pair(parser)
    parser.add_argument(
        "--prompts",
        metavar="FILE.jsonl",
        type=Path,
        required=True,
        help='prompts in the field "prompt", perhaps a "category"',
    )
    parser.add_argument("--temperature", type=float, default=Config().temperature, help="0 is greedy (default %(default)s)")
    parser.add_argument("--max-new-tokens", type=int, default=64, help="length limit of each answer (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the target's draws (default %(default)s)")
    parser.add_argument("--raw", action="store_true", help="the prompts as they are, without the chat template")
    parser.add_argument("--json", action="store_true", help="a JSON object for programs")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    records = read_prompt_records(args.prompts)
    config = Config(mode="sd", temperature=args.temperature, max_new_tokens=args.max_new_tokens, seed=args.seed)
    from easd_viz import overlap
    from easd_viz.models import PairSpec, load_pair

    with LoadBar() as bar:
        pair = load_pair(PairSpec.parse(args.pair), dtype=args.dtype, device=args.device, progress=bar)
    questions = [
        overlap.Question(pair.tokenizer.encode(r["prompt"], not args.raw), str(r.get("category", "")), _answer_ids(r, pair))
        for r in records
    ]
    answers = list(tqdm(overlap.measure(pair, questions, config), total=len(questions), unit="prompt"))
    times = overlap.step_times(pair)
    print(json.dumps(_json(pair, answers, times, config)) if args.json else _text(pair, answers, times))
    return 0


def _answer_ids(record: dict[str, Any], pair: Pair) -> list[int]:
    """A prompt's ``answer_ids``, checked; empty where it has none."""
    ids = record.get("answer_ids", [])
    if not isinstance(ids, list) or not all(isinstance(i, int) and 0 <= i < pair.vocab_size for i in ids):
        raise UserError(f'"answer_ids" must be a list of token ids below {pair.vocab_size}; prompt: {record["prompt"][:40]!r}')
    return ids


def _text(pair: Pair, answers: list[Answer], times: StepTimes) -> str:
    from easd_viz import overlap

    whole, parts = overlap.fit(answers), overlap.by_category(answers)
    lines = [f"{pair.draft.id} → {pair.target.id}, {pair.target.dtype} on {pair.target.device}", ""]
    lines.append(f"{'':18} {'Σ min(p, q)':>12} {'greedy':>8} {'answers':>8} {'n':>7}")
    for name, found in {"all": whole, **parts}.items():
        lines.append(f"{name:18} {found.beta:12.3f} {found.greedy:8.3f} {found.answers:8} {found.positions:7}")
    lines += ["", f"c = {times.draft_ms:.1f} ms / {times.target_ms:.1f} ms = {times.c:.3f} (one draft step / one target step)"]
    expected = ", ".join(f"γ = {g}: {overlap.speed_up(whole.beta, g, times.c):.2f}" for g in (1, 2, 3, 4))
    lines.append(f"expected speed-up (Leviathan, as if positions were independent): {expected}")
    for side in ("draft", "target"):
        cuts = ", ".join(f"{q} %: {value:.2f}" for q, value in _percentiles(answers, f"{side}_entropy").items())
        lines.append(f"{side} entropy percentiles, nats: {cuts}")
    return "\n".join(lines)


def _json(pair: Pair, answers: list[Answer], times: StepTimes, config: Config) -> dict[str, Any]:
    from easd_viz import overlap

    def row(found: Fit) -> dict[str, float]:
        return {"beta": found.beta, "greedy": found.greedy, "answers": found.answers, "n": found.positions}

    return {
        "draft": pair.draft.id,
        "target": pair.target.id,
        "dtype": pair.target.dtype,
        "device": pair.target.device,
        "temperature": config.temperature,
        "max_new_tokens": config.max_new_tokens,
        "seed": config.seed,
        "all": row(overlap.fit(answers)),
        "by_category": {name: row(found) for name, found in overlap.by_category(answers).items()},
        "draft_step_ms": times.draft_ms,
        "target_step_ms": times.target_ms,
        "c": times.c,
        "draft_entropy_percentiles": _percentiles(answers, "draft_entropy"),
        "target_entropy_percentiles": _percentiles(answers, "target_entropy"),
    }


def _percentiles(answers: list[Answer], field: str) -> dict[int, float]:
    """Entropies at some percentiles, nats: where to look for the gate's thresholds."""
    import numpy as np

    values = [v for a in answers for v in getattr(a, field)]
    return {q: float(np.percentile(values, q)) for q in PERCENTILES}
