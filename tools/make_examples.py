"""Makes the traces that come with the app (assets/examples) by running the demo pair. Run it again when pair or schema change.

python tools/make_examples.py            all of them
python tools/make_examples.py sheep      only this one

A run that shows no gated token teaches nothing about the gate, nor does one of a few tokens: seeds are tried, from the example's
own upwards, until one serves.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from easd_viz import store
from easd_viz.examples import EXAMPLES, Example
from easd_viz.models import Pair, load_pair
from easd_viz.record import encode_prompt, record
from easd_viz.trace import Trace

SEEDS = 6
"""How many are tried at most."""
SHORTEST = 60
"""Tokens."""
NEEDED = ("accepted", "rejected", "gated")


def make(pair: Pair, example: Example) -> Trace:
    """The first run that is long enough and shows every verdict; where none does, the one with the most gated tokens."""
    runs: list[Trace] = []
    for seed in range(example.config.seed, example.config.seed + SEEDS):
        *_, last = record(pair, encode_prompt(pair, example.prompt), replace(example.config, seed=seed))
        if len(last.token_ids) >= SHORTEST and all(outcomes(last)[outcome] for outcome in NEEDED):
            return last
        runs.append(last)
    return max(runs, key=lambda run: outcomes(run)["gated"])


def outcomes(trace: Trace) -> Counter[str]:
    return Counter(token.outcome for step in trace.steps for token in step.drafted)


def main() -> None:
    wanted = sys.argv[1:] or [example.name for example in EXAMPLES]
    pair = load_pair("demo", dtype="float32", device="cpu")
    for example in EXAMPLES:
        if example.name not in wanted:
            continue
        trace = make(pair, example)
        store.save(trace, example.path)
        count = outcomes(trace)
        verdicts = ", ".join(f"{count[outcome]} {outcome}" for outcome in NEEDED)
        seed = trace.header.config.seed
        print(f"{example.name}: seed {seed}, {len(trace.token_ids)} tokens in {len(trace.steps)} rounds; {verdicts}", flush=True)


if __name__ == "__main__":
    main()
