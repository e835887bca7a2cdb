"""Made-up traces that hold together: real softmaxes over a small odd vocabulary, judged by the real decision rule.

No model, no torch. The vocabulary has what goes wrong in a browser: markup, template literals, control characters, and characters
whose bytes are split over two tokens.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from easd_viz.trace import Config, Emitted, Footer, Header, ModelInfo, Outcome, Prompt, Step, Token, TopEntry, Trace
from easd_viz.verify import SOURCE_OF_REPLACEMENT, accept_probability, decide, gate_of, overlap

WORDS = re.findall(
    r"\w+",
    "the a of and to in was light sea keeper boat storm lamp night he she it harbour wave had lost stone wind"
    " on his her tower shore glass far deep cold old small one day they found with from into until",
)
PIECES: tuple[bytes, ...] = (
    *(b" " + word.encode() for word in WORDS),
    *(b".", b",", b"\n", b"\n\n", b"\t", b" ", b"    ", b"umble", b"ing", b'"', b"'s", b"&amp;", b"\\"),
    *(b"<img src=x onerror=alert(1)>", b"</script>", b"${1+1}", b"{{value}}", b"<|im_end|>"),
    *("é".encode(), "日".encode(), "م".encode(), b"\xc3", b"\xa9", b" \xf0\x9f", b"\x98\x80"),
)
FOLLOWS = {b"\xc3": b"\xa9", b" \xf0\x9f": b"\x98\x80"}
"""The second half of a split character comes after its first half, as it does in real text."""
ID_OF = {piece: i for i, piece in enumerate(PIECES)}
TEXT = tuple(piece.decode("utf-8", "replace") for piece in PIECES)


def _hex(token_id: int) -> str | None:
    try:
        PIECES[token_id].decode("utf-8")
    except UnicodeDecodeError:
        return PIECES[token_id].hex()
    return None


def _softmax(logits: np.ndarray, temperature: float) -> np.ndarray:
    scaled = logits / temperature
    weights: np.ndarray = np.exp(scaled - scaled.max())
    return weights / weights.sum()


def _pick(law: np.ndarray, uniform: float) -> int:
    return int(min(np.searchsorted(np.cumsum(law), uniform), len(law) - 1))


def _top(law: np.ndarray) -> tuple[TopEntry, ...]:
    order = np.argsort(-law, kind="stable")[:20]
    return tuple((int(i), TEXT[i], float(law[i])) for i in order)


def _entropy(law: np.ndarray) -> float:
    inside = law[law > 0]
    return float(max(0.0, -(inside * np.log(inside)).sum()))


class _World:
    """Both models at one place of the text, and the draws there; everything follows from the seed and the place."""

    def __init__(self, seed: int, config: Config) -> None:
        self.seed, self.config = seed, config

    def uniform(self, position: int, role: str) -> float:
        return 1.0 - random.Random(f"{self.config.seed}/{position}/{role}").random()

    def laws(self, context: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Logits of (draft, target): alike, sharp at some places and flat at others."""
        rng = np.random.default_rng([self.seed, len(context), context[-1]])
        shared, sharpness = rng.normal(size=len(PIECES)), rng.choice([0.6, 1.5, 3.0])
        target = sharpness * shared + 0.4 * rng.normal(size=len(PIECES))
        draft = sharpness * shared + 0.9 * rng.normal(size=len(PIECES))
        for tail in FOLLOWS.values():
            draft[ID_OF[tail]] = target[ID_OF[tail]] = -20.0
        if (tail := FOLLOWS.get(PIECES[context[-1]])) is not None:
            draft[ID_OF[tail]] = target[ID_OF[tail]] = 14.0
        return draft, target

    def soft(self, logits: np.ndarray) -> np.ndarray:
        return _softmax(logits, self.config.temperature or 1.0)

    def sampling(self, logits: np.ndarray) -> np.ndarray:
        if self.config.temperature == 0:
            return np.eye(len(PIECES))[int(logits.argmax())]
        return self.soft(logits)


def _variation(p: np.ndarray, q: np.ndarray) -> tuple[float, float, float]:
    """(beta, tv under ``target``, tv under ``exclude``) by the closed forms."""
    low, residual = np.minimum(p, q), np.maximum(p - q, 0)
    beta = float(min(1.0, low.sum()))
    residual = residual / residual.sum() if residual.sum() > 0 else residual
    open_target = beta * p + (1 - beta) * residual
    away = np.divide(low, 1 - p, out=np.zeros_like(low), where=p < 1)
    open_exclude = (away.sum() - away) * p + np.where(p < 1, 0, low) + (1 - beta) * residual
    return beta, float(abs(open_target - p).sum() / 2), float(abs(open_exclude - p).sum() / 2)


def _drafted(world: _World, context: list[int], index: int, outcome_so_far: Outcome | None) -> Token:
    config, position = world.config, len(context)
    draft_logits, target_logits = world.laws(context)
    q, p = world.sampling(draft_logits), world.sampling(target_logits)
    x = _pick(q, world.uniform(position, "draft"))
    draft_top, target_top = _top(world.soft(draft_logits)), _top(world.soft(target_logits))
    beta, tv_target, tv_exclude = _variation(p, q)
    values: dict[str, Any] = {
        "draft_prob": float(q[x]),
        "target_prob": float(min(1.0, p[x])),
        "uniform": world.uniform(position, "accept"),
        "draft_entropy": _entropy(world.soft(draft_logits)),
        "target_entropy": _entropy(world.soft(target_logits)),
        "overlap": overlap([t[0] for t in draft_top], [t[0] for t in target_top], config.k),
    }
    outcome = outcome_so_far or decide(**values, gate=gate_of(config)).outcome
    return Token(
        position=position,
        draft_index=index,
        token_id=x,
        text=TEXT[x],
        bytes=_hex(x),
        accept_prob=accept_probability(values["draft_prob"], values["target_prob"]),
        draft_top=draft_top,
        target_top=target_top,
        beta=beta,
        tv_target=tv_target,
        tv_exclude=tv_exclude,
        outcome=outcome,
        **values,
    )


def _emitted(world: _World, context: list[int], stop: Token | None) -> Emitted:
    draft_logits, target_logits = world.laws(context)
    p, law, source = world.sampling(target_logits), world.sampling(target_logits), "bonus"
    if world.config.mode == "target":
        source = "target"
    elif stop is not None and stop.outcome == "rejected":
        law, source = np.maximum(p - world.sampling(draft_logits), 0), "residual"
    elif stop is not None:
        source = SOURCE_OF_REPLACEMENT[world.config.resample]
        if source == "target_excluding_draft":
            law = world.soft(target_logits) if world.config.temperature == 0 else p.copy()
            law[stop.token_id] = 0
    law = law / law.sum()
    if world.config.temperature == 0:
        law = np.eye(len(PIECES))[int(law.argmax())]
    x = _pick(law, uniform := world.uniform(len(context), "emit"))
    return Emitted(
        len(context),
        x,
        TEXT[x],
        _hex(x),
        source,  # type: ignore[arg-type]
        float(law[x]),
        float(min(1.0, p[x])),
        _entropy(world.soft(target_logits)),
        uniform,
    )


def _draft_only(token: Token) -> Token:
    blank: Mapping[str, Any] = dict.fromkeys(
        ("target_prob", "accept_prob", "uniform", "target_entropy", "overlap", "target_top", "beta", "tv_target", "tv_exclude")
    )
    return replace(token, **blank, outcome="accepted")


def _step(world: _World, context: list[int], index: int, gamma: int) -> Step:
    """One round; ``context`` grows by what it emits."""
    drafted: list[Token] = []
    stop: Token | None = None
    ahead = list(context)
    mode = world.config.mode
    for i in range(1, gamma + 1 if mode != "target" else 1):
        token = _drafted(world, ahead, i, "discarded" if stop else None)
        drafted.append(_draft_only(token) if mode == "draft" else token)
        if stop is None and token.outcome in ("rejected", "gated") and mode != "draft":
            stop = token
        ahead.append(token.token_id)
    context += [t.token_id for t in drafted if t.outcome == "accepted"]
    emitted = None if mode == "draft" else _emitted(world, context, stop)
    if emitted is not None:
        context.append(emitted.token_id)
    rng = random.Random(index)
    return Step(index, tuple(drafted), emitted, 6 + 4 * rng.random(), 15 + 5 * rng.random(), 0.4 + rng.random() / 5)


def make_trace(seed: int = 0, steps: int = 40, gamma: int = 4, config: Config | None = None) -> Trace:
    """A whole trace of ``steps`` rounds that passes every check of the reader; ``config.gamma`` is set to ``gamma``."""
    config = replace(config or Config(draft_threshold=2.5, target_threshold=2.5, overlap_threshold=0.4), gamma=gamma)
    prompt = Prompt("Tell me about a lighthouse. <b>&amp;</b> ${1+1}", (1, 2, 3, 4, 5), False)
    world, context = _World(seed, config), list(prompt.token_ids)
    made = tuple(_step(world, context, index, gamma) for index in range(steps))
    info = ModelInfo("synthetic-draft", None, "float32", "cpu", len(PIECES))
    header = Header(
        app_version="0",
        created="2026-01-01T00:00:00Z",
        draft_model=None if config.mode == "target" else info,
        target_model=None if config.mode == "draft" else replace(info, id="synthetic-target"),
        tokenizer={"fingerprint": "synthetic"},
        prompt=prompt,
        config=config,
        versions={},
    )
    text = b"".join(PIECES[i] for i in context[len(prompt.token_ids) :]).decode("utf-8", "replace")
    wall = sum(s.draft_ms + s.verify_ms + s.record_ms for s in made)
    return Trace(header, made, Footer("length", text, 80.0, wall))
