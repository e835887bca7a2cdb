"""The prompts the target answers: templates times topics, and passages it wrote itself.

Breadth is what makes a draft useful on prompts nobody foresaw, so there are many kinds, each drawn by its own function from a
seeded generator; the words are in prompts.toml. None of the text comes from a benchmark. Kinds that need a passage (summaries,
questions over a passage, extraction) take one that the target wrote in an earlier shard.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TEXTS: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TEMPLATES, PASSAGES = TEXTS["templates"], TEXTS["passages"]

SLOTS: dict[str, Sequence[str]] = {
    **TEXTS["words"],
    "n": [str(n) for n in range(2, 13)],
    "big": [str(n) for n in range(12, 400)],
}
"""What ``{slot}`` in an English template may become."""


@dataclass(frozen=True)
class Prompt:
    """What one conversation starts from."""

    kind: str
    user: str | None
    """The user's turn; None where the target writes it itself."""
    max_new: int
    system: str | None = None


Builder = Callable[[random.Random, Sequence[str], Sequence[str]], Prompt]
"""(generator, passages, extra questions) -> prompt."""


def _fill(template: str, rng: random.Random, slots: Mapping[str, Sequence[str]]) -> str:
    """Replaces ``{slot}`` by a draw from its list until none is left (draws may hold slots themselves)."""
    while "{" in template:
        start, end = template.index("{"), template.index("}")
        template = template[:start] + rng.choice(slots[template[start + 1 : end]]) + template[end + 1 :]
    return template


MAX_NEW = {
    "writing": 144, "roleplay": 144, "reasoning": 144, "maths": 144, "sums": 160, "code": 160, "stem": 144, "humanities": 144,
    "chat": 128, "question": 80, "article": 208, "passage": 176,
}  # fmt: skip
"""Most tokens to sample per kind: rather many conversations than long ones (breadth counts, and attention costs by length)."""


def german_sentence(rng: random.Random) -> str:
    """A German sentence in the style of a newspaper (tokenised punctuation, as translation corpora have it)."""
    parts = TEXTS["german"]
    sentence = f"{rng.choice(parts['subject'])} {rng.choice(parts['verb'])}{rng.choice(parts['tail'])}"
    return _fill(sentence, rng, TEXTS["german_words"])


def _templated(kind: str) -> Builder:
    def build(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
        text = _fill(rng.choice(TEMPLATES[kind]), rng, SLOTS)
        if kind == "question" and rng.random() < 0.5:
            text = text[0].upper() + text[1:] + "?"
        return Prompt(kind, text, MAX_NEW[kind])

    return build


def _extra(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    if not extra:
        return _templated("sums")(rng, passages, extra)
    return Prompt("extra", rng.choice(extra), 160)


def _translation(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    sentence = german_sentence(rng)
    usual, others = "Translate German to English: {}", ["Translate into English: {}", "What does this mean in English? {}"]
    form = rng.choice([usual] * 6 + others)
    return Prompt("translation", form.format(sentence), 96)


def _bare(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    system = rng.choice(TEXTS["systems"]["bare"]) if rng.random() < 0.5 else None
    return Prompt("bare", None, 224, system)


def _summary(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    text = "\n".join(rng.choice(passages) for _ in range(rng.choice([1, 1, 2, 3])))
    return Prompt("summary", rng.choice(PASSAGES["summaries"]).format(text), 112)


def _over_passage(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    text = "\n".join(rng.choice(passages) for _ in range(rng.choice([1, 2, 3, 3])))
    if rng.random() < 0.5:
        question = rng.choice(PASSAGES["questions"])
    else:
        question = _fill(rng.choice(TEMPLATES["question"] + TEMPLATES["stem"]), rng, SLOTS)
    return Prompt("passage question", f"{text}\n{question}", 112)


def _extraction(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    return Prompt("extraction", f"{rng.choice(PASSAGES['extractions'])}\n\n{rng.choice(passages)}", 112)


PROSE = ("article", "passage")
"""Kinds whose answers become the passages of later shards."""

SHORT: dict[str, tuple[float, Builder]] = {
    **{
        kind: (weight, _templated(kind))
        for kind, weight in {
            "writing": 6, "roleplay": 6, "reasoning": 6, "maths": 6, "sums": 3, "code": 7, "stem": 7, "humanities": 6,
            "chat": 5, "question": 12, "article": 8, "passage": 6,
        }.items()
    },
    "extra": (22, _extra),
    "translation": (16, _translation),
    "bare": (10, _bare),
}  # fmt: skip
"""Kinds with short prompts: relative weight and builder."""

LONG: dict[str, tuple[float, Builder]] = {
    "summary": (5, _summary),
    "passage question": (4, _over_passage),
    "extraction": (1, _extraction),
}
"""Kinds with a passage in the prompt."""

TEMPERATURES = [0.7] * 6 + [1.0] * 2 + [0.9, 0.0]
"""Greedy has a share of its own, except where the target writes the whole conversation: it would write the same one each time."""


def compose(
    count: int, rng: random.Random, passages: Sequence[str], extra: Sequence[str], long: bool
) -> list[tuple[Prompt, float]]:
    """``count`` prompts of short or long kinds, each with the temperature to sample its answer at."""
    kinds = LONG if long else SHORT
    builders = [builder for _, builder in kinds.values()]
    weights = [weight for weight, _ in kinds.values()]
    chosen = rng.choices(builders, weights=weights, k=count)
    prompts = [build(rng, passages, extra) for build in chosen]
    return [(p, rng.choice(TEMPERATURES if p.user else TEMPERATURES[:-1])) for p in prompts]
