"""Measures a pair on some prompts and proposes the app's defaults for it: gamma by tokens per second, the gate by its rate.

    python tools/pair_defaults.py --pair demo --prompts PROMPTS.jsonl --count 24

Speed: the target alone and standard speculative decoding at each gamma take turns on every prompt, so that a busy moment of the
machine hits all alike. The gate, on runs recorded at the fastest gamma, where ``-k`` and ``--overlap`` don't say otherwise:

k                 the shortest list (of ``LENGTHS``) that holds ``MASS`` of either model's probability, on average
rho               the median overlap at that k: models agree where they do so at least as much as at half of the tokens
both thresholds   their common percentile at which about one in ten tokens that SD accepts is gated (``easd_viz.calibrate``)
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from easd_viz import calibrate, replay
from easd_viz.cli.trace import read_prompt_records
from easd_viz.trace import Config, Prompt, Trace

if TYPE_CHECKING:
    from easd_viz.models import Pair

INF = float("inf")
LENGTHS = (5, 10, 15, 20)
MASS = 0.9


@dataclass
class Speed:
    """One way to decode, over all prompts."""

    tokens: int = 0
    seconds: float = 0.0
    """Decode wall time, prefill apart."""
    rounds: int = 0
    rates: list[float] = field(default_factory=list)
    """Tokens per second of each prompt."""

    @property
    def rate(self) -> float:
        return self.tokens / self.seconds

    @property
    def tokens_per_round(self) -> float:
        return self.tokens / self.rounds


def spread(records: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """``count`` records, evenly over the file, so that every category has its share."""
    return [records[i * len(records) // count] for i in range(min(count, len(records)))]


def time_one(pair: Pair, prompt: Prompt, config: Config, speed: Speed) -> None:
    """Decodes one prompt and adds it to ``speed``."""
    from easd_viz.engine import decode

    decoding = decode(pair, prompt.token_ids, config, lists=False)
    started = time.perf_counter()
    steps = list(decoding)
    seconds = time.perf_counter() - started
    tokens = sum(len(step.token_ids) for step in steps)
    speed.tokens += tokens
    speed.seconds += seconds
    speed.rounds += len(steps)
    speed.rates.append(tokens / seconds)


def speeds(pair: Pair, prompts: Sequence[Prompt], gammas: Sequence[int], config: Config) -> dict[int, Speed]:
    """Gamma -> speed; 0 is the target alone."""
    found = {gamma: Speed() for gamma in (0, *gammas)}
    for number, prompt in enumerate(tqdm(prompts, desc="speed", unit="prompt")):
        for gamma in sorted(found, reverse=number % 2 == 1):
            mode = replace(config, mode="sd", gamma=gamma) if gamma else replace(config, mode="target")
            time_one(pair, prompt, mode, found[gamma])
    return found


def traces(pair: Pair, prompts: Sequence[Prompt], config: Config) -> list[Trace]:
    """SD runs of every prompt, recorded in full."""
    from easd_viz.record import record

    return [list(record(pair, prompt, config))[-1] for prompt in tqdm(prompts, desc="gate", unit="prompt")]


def list_mass(data: replay.GateArrays, k: int) -> tuple[float, float]:
    """(draft, target): mean probability that the first ``k`` entries of the top lists hold, at temperature 1."""
    lists = [(token.draft_top, token.target_top) for token in data.tokens]
    masses = [[sum(entry[2] for entry in top[:k]) for top in pair if top is not None] for pair in lists]
    draft, target = np.mean(masses, axis=0)
    return float(draft), float(target)


def choose_k(data: replay.GateArrays) -> int:
    """The shortest of ``LENGTHS`` whose lists hold ``MASS`` of both models; the longest where none does."""
    return next((k for k in LENGTHS if min(list_mass(data, k)) >= MASS), LENGTHS[-1])


def choose_overlap(data: replay.GateArrays, k: int) -> float:
    """The median overlap at ``k``, a multiple of 1/k (of two in the middle, the lower)."""
    return float(np.percentile(data.overlap_at(k), 50, method="lower"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pair", default="demo")
    parser.add_argument("--prompts", type=Path, required=True, help="JSON Lines with a field `prompt`")
    parser.add_argument("--count", type=int, default=24, help="prompts to use, spread over the file")
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--gammas", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("-k", type=int, help="length of the compared lists (default: by the rule above)")
    parser.add_argument("--overlap", type=float, help="rho (default: by the rule above)")
    parser.add_argument("--gate-rate", type=float, default=0.1, help="share of SD-accepted tokens to gate")
    args = parser.parse_args()
    from easd_viz.models import load_pair
    from easd_viz.record import encode_prompt

    pair = load_pair(args.pair, dtype=args.dtype, device=args.device)
    prompts = [encode_prompt(pair, r["prompt"]) for r in spread(read_prompt_records(args.prompts), args.count)]
    config = Config(
        mode="sd", temperature=args.temperature, max_new_tokens=args.max_new_tokens, draft_threshold=INF, target_threshold=INF
    )
    time_one(pair, prompts[0], config, Speed())  # the first run of a process is slower
    found = speeds(pair, prompts, args.gammas, config)
    print(f"{pair.draft.id} → {pair.target.id}, {pair.target.dtype} on {pair.target.device}, {len(prompts)} prompts")
    for gamma, speed in found.items():
        name = f"SD, gamma = {gamma}" if gamma else "target alone"
        print(
            f"{name:14} {speed.rate:6.2f} tokens/s ({speed.rate / found[0].rate:.3f} of the target alone; median of prompts "
            f"{statistics.median(speed.rates):.2f}), {speed.tokens_per_round:.3f} tokens per round, n = {speed.tokens}"
        )
    best = max(args.gammas, key=lambda gamma: found[gamma].rate)
    data = replay.arrays(traces(pair, prompts, replace(config, gamma=best)))
    k = args.k or choose_k(data)
    rho = choose_overlap(data, k) if args.overlap is None else args.overlap
    gate = calibrate.by_gate_rate(data, args.gate_rate, k=k, overlap_threshold=rho)
    able = data.accepted_by_sd & (data.overlap_at(k) >= rho)
    print(f"SD accepted {data.accepted_by_sd.sum()} of n = {len(data)} on-path tokens; overlap >= rho in {able.sum()} of those")
    held = "; ".join("{}: {:.3f} and {:.3f}".format(length, *list_mass(data, length)) for length in LENGTHS)
    print(f"mean probability in the top lists, draft and target, by their length: {held}")
    agree = {q: float(np.percentile(data.overlap_at(k), q, method="lower")) for q in (10, 25, 50, 75, 90)}
    print(f"overlap of on-path tokens at k = {k}, percentiles: {json.dumps(agree)}")
    for side in ("draft", "target"):
        values = getattr(data, f"{side}_entropy")
        cuts = {q: round(float(np.percentile(values, q)), 3) for q in (25, 50, 75, 80, 90, 95)}
        print(f"{side} entropy of on-path tokens, percentiles in nats: {json.dumps(cuts)}")
    print(
        f"defaults: gamma = {best}, draft threshold = {gate.draft_threshold:.2f}, target threshold = {gate.target_threshold:.2f} "
        f"(percentile {gate.percentile:g}), k = {k}, rho = {rho:g}: gate rate {gate.gate_rate}, "
        f"n = {gate.accepted_by_sd}"
    )


if __name__ == "__main__":
    main()
