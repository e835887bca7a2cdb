"""The recorded runs that come with the app: what they are called, what was asked, what to look at.

``tools/make_examples.py`` runs the demo pair and writes the files. What is said about them holds for any pair and any seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from easd_viz import store
from easd_viz.assets import EXAMPLES as FOLDER
from easd_viz.trace import Config, Trace


@dataclass(frozen=True, slots=True)
class Example:
    """One recorded run."""

    name: str
    """The file's, and a link's."""
    title: str
    prompt: str
    look: str
    """What to look at, one sentence or two."""
    config: Config

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.jsonl"


def _config(max_new_tokens: int, seed: int, **others: Any) -> Config:
    """The app's defaults but for ``others``: a lower temperature makes both models surer, so it needs lower thresholds."""
    return Config(max_new_tokens=max_new_tokens, seed=seed, **others)


EXAMPLES: Sequence[Example] = (
    Example(
        "lighthouse",
        "A story",
        "Tell me a short story about a lighthouse keeper and a lost boat.",
        "A story can go on in many ways: see how often the two models part, and that both are unsure at names and turns.",
        _config(160, 0),
    ),
    Example(
        "sheep",
        "A word problem",
        "A farmer has 17 sheep and buys 3 pens with 4 sheep each. How many sheep are there now? Think step by step.",
        "Words copied from the question are easy to draft. Look at the digits: there a guess is worth little.",
        _config(110, 1),
    ),
    Example(
        "palindrome",
        "Code",
        "Write a Python function that checks whether a word is a palindrome.",
        "Code is regular: look for runs of accepted tokens in brackets and keywords, and for the doubt at each new name.",
        _config(120, 2),
    ),
    Example(
        "three-times",
        "The same, three times",
        "Write a list with the same paragraph about rain three times.",
        "Colour the text by target entropy: where words come round again, the target knows what follows. Does the draft?",
        _config(130, 3, temperature=0.4, draft_threshold=0.8, target_threshold=0.5),
    ),
)
"""In the order of the page; the first is what first paint shows."""


@cache
def load(name: str) -> Trace:
    """The recorded run of this name; kept, as every visitor sees the same ones."""
    return store.load(named(name).path)


def named(name: str) -> Example:
    return next(example for example in EXAMPLES if example.name == name)
