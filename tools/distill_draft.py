"""Distils a small draft model from a target, in four steps that can each be killed and run again:

    python tools/distill_draft.py generate --run RUN --positions 1500000 [--extra-prompts QUESTIONS.jsonl] [--workers 2]
    python tools/distill_draft.py train --run RUN --out RUN/a --minutes 50        (or --steps N)
    python tools/distill_draft.py evaluate --run RUN --draft RUN/a/draft --prompts PROMPTS.jsonl
    python tools/distill_draft.py export --run RUN --out RUN/a --to assets/demo-draft

The same commands run on a GPU where there is one. Without ``--target`` the demo pair's target is used.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": "4000000000",
    "MALLOC_TRIM_THRESHOLD_": "16000000000",
    "THP_MEM_ALLOC_ENABLE": "1",
}
"""Memory settings for a CPU: glibc keeps large blocks (faulting them in again costs time), and they lie on huge pages."""


def load_target(name: str, dtype: Any = None) -> tuple[Any, Any]:
    """The target and its tokenizer on the best device there is; ``demo`` is the demo pair's. ``dtype``: the fastest there."""
    import torch
    from distill.precision import fast_dtype
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if name == "demo":
        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
        from easd_viz.models.demo import target_folder

        name = str(target_folder(lambda progress: None))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = AutoModelForCausalLM.from_pretrained(name, dtype=dtype or fast_dtype(device)).eval().to(device)
    return model.requires_grad_(False), AutoTokenizer.from_pretrained(name)


def run_generate(args: argparse.Namespace) -> None:
    """Samples the training text, here or in ``--workers 2`` processes of half the threads each."""
    if args.workers > 1 and args.worker is None:
        command = [sys.executable, *sys.argv, "--worker"]
        children = [subprocess.Popen([*command, str(worker)]) for worker in range(args.workers)]
        raise SystemExit(max(child.wait() for child in children))
    import torch
    from distill.data import generate, read_extra

    if args.workers > 1:
        torch.set_num_threads(max(1, torch.get_num_threads() // args.workers))
    target, tokenizer = load_target(args.target)
    generate(
        args.run, target, tokenizer, read_extra(args.extra_prompts), seed=args.seed, positions=args.positions,
        slots=args.slots, conversations=args.conversations, worker=args.worker or 0, workers=args.workers,
    )  # fmt: skip


def run_train(args: argparse.Namespace) -> None:
    """Trains one draft; the same command again goes on where it was killed."""
    from distill import parallel

    if args.workers > 1 and parallel.SIZE not in os.environ:
        raise SystemExit(parallel.lead(args.workers))
    from distill.train import Settings, train

    target, tokenizer = load_target(args.target)
    names = {f.name for f in fields(Settings)}
    settings = Settings(**{name: value for name, value in vars(args).items() if name in names})
    if not settings.steps and not settings.minutes:
        raise SystemExit("Say how long: --steps N or --minutes M.")
    train(args.run, args.out, target, settings, _always(tokenizer), save_seconds=args.save_seconds, save_steps=args.save_steps,
          evaluate_steps=args.evaluate_steps, stop_after=args.stop_after, team=parallel.join())  # fmt: skip


def run_evaluate(args: argparse.Namespace) -> None:
    """Prints (and logs) the mean overlap by category on the target's own answers to a file of prompts."""
    from distill import batches, draft, measure
    from distill.data import log

    target, tokenizer = load_target(args.target)
    shard = args.run / f"answers-{args.prompts.stem}-{args.temperature}-{args.max_new}.safetensors"
    categories = measure.answers(shard, args.prompts, target, tokenizer, args.temperature, args.max_new)
    if args.answers_to:
        measure.write_answers(args.answers_to, args.prompts, shard)
    if args.draft is None:
        return
    model = draft.load(args.draft, target.model.embed_tokens.weight)
    rows = measure.table(model, batches.read(shard), categories, target, args.temperature)
    log(args.run, event="evaluated", draft=str(args.draft), prompts=args.prompts.name, temperature=args.temperature, rows=rows)
    for name, row in rows.items():
        print(f"{name:20} {row['overlap']:.4f}  n = {row['n']}")


def run_export(args: argparse.Namespace) -> None:
    """Puts a trained draft and its model card into a folder, perhaps with a smaller vocabulary than it was trained with."""
    from distill import batches, card, draft, measure
    from distill.data import log, shard_paths
    from distill.train import most_used

    target, tokenizer = load_target(args.target)
    model = draft.load(args.out[-1] / "draft", target.model.embed_tokens.weight)
    if args.vocabulary:
        examples = [e for path in shard_paths(args.run) for e in batches.read(path)]
        model.choose_ids(most_used(examples, args.vocabulary, target, _always(tokenizer)))
    if args.sharpen:
        held_out = [e for path in shard_paths(args.run) for e in batches.split(batches.read(path), args.held_out_every)[1]]
        found = measure.sharpen(model, held_out, target, args.temperature)
        log(args.out[-1], event="sharpened", temperature=args.temperature, overlap_by_factor=found)
    draft.save(model, args.to)
    trained = sum(t.numel() for name, t in draft.trained_tensors(model).items() if name != "head_token_ids")
    facts = {
        "target": args.target_name,
        "layers": model.config.num_hidden_layers,
        "trained": trained / 1e6,
        "covered": model.covered,
        "extra": args.extra_name,
        "head_rows": ", trained head rows" if model.head.requires_grad else "",
    }
    card.write(args.to, args.run, args.out, args.figures, args.notes, facts, args.start_card)


def _always(tokenizer: Any) -> list[int]:
    """Ids that every reduced vocabulary has: the end of a turn and the other special tokens."""
    return sorted({tokenizer.eos_token_id, *tokenizer.all_special_ids})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, metavar="STEP")

    def add(name: str, handler: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        verb = verbs.add_parser(name, help=(handler.__doc__ or "").splitlines()[0], description=handler.__doc__)
        verb.add_argument("--target", default="demo", help="folder or hub id of a Llama model (default: the demo pair's target)")
        verb.add_argument("--run", type=Path, required=True, help="folder of the shards")
        verb.set_defaults(handler=handler)
        return verb

    verb = add("generate", run_generate)
    verb.add_argument("--extra-prompts", type=Path, help="JSON Lines with a `question` or `prompt` field each")
    verb.add_argument("--seed", type=int, default=1)
    verb.add_argument("--positions", type=int, default=1_500_000, help="tokens to sample in all")
    verb.add_argument("--slots", type=int, default=128, help="conversations sampled side by side, per worker")
    verb.add_argument("--conversations", type=int, default=512, help="per shard")
    verb.add_argument("--workers", type=int, choices=(1, 2), default=1, help="2 where other programs use the CPU too")
    verb.add_argument("--worker", type=int, help=argparse.SUPPRESS)

    verb = add("train", run_train)
    verb.add_argument("--out", type=Path, required=True, help="folder of this training: state, log, draft")
    _add_settings(verb)
    verb.add_argument("--workers", type=int, default=1, help="processes that share each step; 2 where a CPU is busy otherwise")
    verb.add_argument("--save-seconds", type=float, default=120.0, help="time between checkpoints")
    verb.add_argument("--save-steps", type=int, default=0, help="checkpoint every so many steps too")
    verb.add_argument("--stop-after", type=int, default=0, help="stop after this step, to go on later (0: never)")
    verb.add_argument("--evaluate-steps", type=int, default=0, help="held-out overlap every so many steps (0: at the end)")

    verb = add("evaluate", run_evaluate)
    verb.add_argument("--draft", type=Path, help="draft folder; without it only the answers are sampled")
    verb.add_argument("--prompts", type=Path, required=True, help="JSON Lines with `prompt` and perhaps `category`")
    verb.add_argument("--answers-to", type=Path, help="write the prompts with `answer_ids`, for `easd_viz overlap`")
    verb.add_argument("--temperature", type=float, default=0.7)
    verb.add_argument("--max-new", type=int, default=128)

    verb = add("export", run_export)
    verb.add_argument(
        "--out", type=Path, required=True, nargs="+", help="training folders, in the order they built on each other"
    )
    verb.add_argument("--to", type=Path, required=True, help="where the draft and its card go")
    verb.add_argument("--vocabulary", type=int, default=0, help="cover only so many ids (0: as trained)")
    verb.add_argument("--sharpen", action="store_true", help="scale the logits for the most overlap on the held-out texts")
    verb.add_argument("--temperature", type=float, default=0.7, help="where --sharpen measures (default %(default)s)")
    verb.add_argument("--held-out-every", type=int, default=64, help="as in training (default %(default)s)")
    verb.add_argument("--figures", type=Path, nargs="*", default=[], help="JSON files {command, note, result} for the card")
    verb.add_argument(
        "--start-card", type=Path, help="card of the draft given to train as --start: how that one was made is told below"
    )
    verb.add_argument("--notes", type=Path, help="Markdown file whose section 'Draft model' ends the card")
    verb.add_argument("--extra-name", default="", help="what the file of --extra-prompts was, for the card")
    verb.add_argument("--target-name", default="SmolLM2-135M-Instruct", help="the target's name in the card")

    args = parser.parse_args()
    args.handler(args)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split(","))


def _add_settings(verb: argparse.ArgumentParser) -> None:
    """One flag per field of ``Settings``."""
    from distill.train import Settings

    for f in fields(Settings):
        flag = "--" + f.name.replace("_", "-")
        if isinstance(f.default, bool):
            verb.add_argument(flag, action="store_true")
        elif isinstance(f.default, tuple):
            verb.add_argument(flag, type=_numbers, default=f.default)
        else:
            verb.add_argument(flag, type=type(f.default), default=f.default)


if __name__ == "__main__":
    if sys.platform == "linux" and not all(os.environ.get(k) for k in MALLOC):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **MALLOC})
    main()
