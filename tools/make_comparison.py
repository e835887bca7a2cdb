"""Makes the comparison that comes with the app (assets/comparison). Run it again when the demo pair or the schema change.

python tools/make_comparison.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from easd_viz import store
from easd_viz.models import load_pair
from easd_viz.race import race
from easd_viz.record import encode_prompt, record
from easd_viz.trace import Config

FOLDER = Path(__file__).resolve().parents[1] / "assets" / "comparison"

PROMPT = "Tell me a short story about a lighthouse keeper and a lost boat."
EASD = Config(draft_threshold=2.0, target_threshold=1.5, overlap_threshold=0.4, k=10, max_new_tokens=96, seed=4)
LANES: Mapping[str, Config] = {"a": replace(EASD, mode="sd"), "b": EASD, "c": replace(EASD, mode="target")}
"""By lane; A is what the others are compared with."""


def main() -> None:
    pair = load_pair("demo")
    prompt = encode_prompt(pair, PROMPT)
    list(record(pair, prompt, replace(EASD, max_new_tokens=4)))  # the first rounds of a process are slow: they would be lane A's
    names = list(LANES)
    traces = dict(race(pair, prompt, list(LANES.values())))
    for number, trace in sorted(traces.items()):
        store.save(trace, FOLDER / f"{names[number]}.jsonl")
        print(f"{names[number]} ({trace.header.config.mode}): {len(trace.token_ids)} tokens in {len(trace.steps)} rounds")


if __name__ == "__main__":
    main()
