"""Makes the comparison that comes with the app (assets/comparison). Run it again when the demo pair or the schema change.

python tools/make_comparison.py
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from easd_viz import store
from easd_viz.models import Pair, load_pair
from easd_viz.race import race
from easd_viz.record import encode_prompt, record
from easd_viz.trace import Config, Prompt, Trace

FOLDER = Path(__file__).resolve().parents[1] / "assets" / "comparison"

PROMPT = "Tell me a short story about a lighthouse keeper and a lost boat."
EASD = Config(gamma=2, max_new_tokens=64)
FORK = range(10, 31)
"""Where the gate should first change the text, in tokens: late enough to have read a line, early enough to be seen."""


def lanes(seed: int) -> Mapping[str, Config]:
    """By lane; A is what the others are compared with."""
    easd = replace(EASD, seed=seed)
    return {"a": replace(easd, mode="sd"), "b": easd, "c": replace(easd, mode="target")}


def first_fork(trace: Trace) -> int | None:
    """How many tokens the text has before the first gated token that another one replaced; None: there is none."""
    start = len(trace.header.prompt.token_ids)
    for step in trace.steps:
        for token in step.on_path:
            if token.outcome == "gated" and step.emitted is not None and step.emitted.token_id != token.token_id:
                return token.position - start
    return None


def good_seed(pair: Pair, prompt: Prompt) -> int:
    """The first seed under which the gate first changes the text within ``FORK``."""
    for seed in range(50):
        *_, trace = record(pair, prompt, replace(EASD, seed=seed, max_new_tokens=FORK.stop))
        if first_fork(trace) in FORK:
            return seed
    raise RuntimeError(f"under none of 50 seeds does the gate first change a token in {FORK}; choose other thresholds")


def main() -> None:
    pair = load_pair("demo", dtype="float32", device="cpu")
    prompt = encode_prompt(pair, PROMPT)
    list(record(pair, prompt, replace(EASD, max_new_tokens=4)))  # the first rounds of a process are slow: they would be lane A's
    chosen = lanes(good_seed(pair, prompt))
    names = list(chosen)
    traces = dict(race(pair, prompt, list(chosen.values())))
    for number, trace in sorted(traces.items()):
        store.save(trace, FOLDER / f"{names[number]}.jsonl")
        print(f"{names[number]} ({trace.header.config.mode}): {len(trace.token_ids)} tokens in {len(trace.steps)} rounds")


if __name__ == "__main__":
    main()
