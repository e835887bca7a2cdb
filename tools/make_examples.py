"""Makes the traces that come with the app (assets/examples) by running the demo pair. Run it again when pair or schema change.

python tools/make_examples.py
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from easd_viz import store
from easd_viz.models import load_pair
from easd_viz.record import encode_prompt, record
from easd_viz.trace import Config, Trace

FOLDER = Path(__file__).resolve().parents[1] / "assets" / "examples"

EXAMPLES: Sequence[tuple[str, str, Config]] = (
    (
        "lighthouse",
        "Tell me a short story about a lighthouse keeper and a lost boat.",
        Config(draft_threshold=1.5, target_threshold=1.5, overlap_threshold=0.4, k=10, max_new_tokens=160),
    ),
)
"""(name, prompt, config); the first is what the Run tab shows on first paint."""


def make(prompt: str, config: Config) -> Trace:
    pair = load_pair("demo")
    *_, last = record(pair, encode_prompt(pair, prompt), config)
    return last


def main() -> None:
    for name, prompt, config in EXAMPLES:
        trace = make(prompt, config)
        store.save(trace, FOLDER / f"{name}.jsonl")
        gated = sum(t.outcome == "gated" for step in trace.steps for t in step.drafted)
        accepted = sum(t.outcome == "accepted" for step in trace.steps for t in step.drafted)
        print(f"{name}: {len(trace.token_ids)} tokens, {len(trace.steps)} rounds, {gated}/{gated + accepted} gated")


if __name__ == "__main__":
    main()
