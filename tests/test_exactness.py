"""Real models against transformers itself: greedy text token for token, every recorded number against one teacher-forced pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from numpy.typing import NDArray

from easd_viz import store
from easd_viz.models import Pair, load_pair
from easd_viz.record import encode_prompt, record
from easd_viz.trace import Config, Prompt, Step, Token, Trace, dumps

Array = NDArray[np.float64]
KINDS: tuple[tiny.Kind, ...] = ("llama", "gpt2", "qwen2")
CONFIG = Config(max_new_tokens=40, draft_threshold=1.0, target_threshold=1.0, overlap_threshold=0.3, seed=5)
PROMPTS = ("Tell me a short story about a lighthouse.", "What is 17 + 26?", "Write a Python function that reverses a list.")
TOLERANCE = 1e-4


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Pair:
    return load_pair(
        tiny.make_pair(tmp_path, request.param, draft_vocab=310, target_vocab=330, noise=0.05), dtype="float32", device="cpu"
    )


def run(pair: Pair, config: Config, prompt: Prompt, resume: Sequence[Step] = ()) -> Trace:
    *_, last = record(pair, prompt, config, resume=resume)
    return last


def generated(pair: Pair, prompt: Prompt, new_tokens: int) -> tuple[int, ...]:
    """transformers' own greedy text of the target."""
    ids = torch.tensor([prompt.token_ids])
    out = pair.target.network.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=new_tokens,
        eos_token_id=sorted(pair.eos_token_ids),
        pad_token_id=0,
    )
    return tuple(out[0, ids.shape[1] :].tolist())


@pytest.mark.parametrize("gamma", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_greedy_sd_is_transformers_greedy_text(kind: tiny.Kind, gamma: int, tmp_path: Path) -> None:
    pair = load_pair(tiny.make_pair(tmp_path, kind, noise=0.02), dtype="float32", device="cpu")
    accepted = 0
    for seed in range(4):
        prompt = replace(encode_prompt(pair, "x"), token_ids=(1, 20 + seed, 40, 7))
        trace = run(pair, replace(CONFIG, mode="sd", temperature=0.0, gamma=gamma), prompt)
        assert trace.token_ids == generated(pair, prompt, 40)
        accepted += sum(len(s.accepted) for s in trace.steps)
    assert accepted > 0, "the fixture's draft never agrees: nothing was tested"


@pytest.mark.pair
@pytest.mark.parametrize("text", PROMPTS)
def test_greedy_sd_is_transformers_greedy_text_on_the_demo_pair(demo_pair: Pair, text: str) -> None:
    prompt = encode_prompt(demo_pair, text)
    trace = run(demo_pair, replace(CONFIG, mode="sd", temperature=0.0, max_new_tokens=64), prompt)
    assert trace.token_ids == generated(demo_pair, prompt, 64)


def full_pass(pair: Pair, side: str, ids: Sequence[int]) -> Array:
    """Logits [len(ids), vocab] of one forward without a cache, common vocabulary only."""
    network = getattr(pair, side).network
    with torch.inference_mode():
        logits = network(torch.tensor([list(ids)]), use_cache=False).logits[0, :, : pair.vocab_size]
    return logits.double().numpy()  # type: ignore[no-any-return]


def softmax(logits: Array) -> Array:
    e = np.exp(logits - logits.max())
    return e / e.sum()


def sampling_softmax(logits: Array, config: Config) -> Array:
    if config.temperature == 0:
        return np.eye(len(logits))[logits.argmax()]
    scaled = logits / config.temperature
    if config.top_k:
        scaled = np.where(scaled < np.sort(scaled)[-config.top_k], -np.inf, scaled)
    if config.top_p < 1:
        order = np.argsort(-scaled)
        probs = softmax(scaled)[order]
        drop = order[np.cumsum(probs) - probs >= config.top_p]
        scaled = scaled.copy()
        scaled[drop] = -np.inf
    return softmax(scaled)


def entropy(p: Array) -> float:
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def exclude_law(p: Array, q: Array) -> Array:
    both = np.minimum(p, q)
    weight = np.divide(both, 1 - p, out=np.zeros_like(p), where=p < 1)
    return p * (weight.sum() - weight) + np.maximum(p - q, 0) + np.where(p >= 1, both, 0)


def expected(token: Token, target: Array, draft: Array, config: Config) -> Iterator[tuple[str, float, float]]:
    """(field, recorded, from the teacher-forced pass) of one drafted token."""
    p, q = sampling_softmax(target, config), sampling_softmax(draft, config)
    full_p, full_q = (softmax(x / (config.temperature or 1)) for x in (target, draft))
    beta = float(np.minimum(p, q).sum())
    top_p, top_q = (set(np.argsort(-full, kind="stable")[: config.k].tolist()) for full in (full_p, full_q))
    assert token.target_prob is not None
    yield "draft_prob", token.draft_prob, q[token.token_id]
    yield "target_prob", token.target_prob, p[token.token_id]
    yield "accept_prob", token.accept_prob or 0.0, min(1.0, p[token.token_id] / q[token.token_id])
    yield "draft_entropy", token.draft_entropy, entropy(full_q)
    yield "target_entropy", token.target_entropy or 0.0, entropy(full_p)
    yield "overlap", token.overlap or 0.0, len(top_p & top_q) / config.k
    yield "beta", token.beta or 0.0, beta
    yield "tv_target", token.tv_target or 0.0, float(np.abs(beta * p + np.maximum(p - q, 0) - p).sum() / 2)
    if config.temperature:
        yield "tv_exclude", token.tv_exclude or 0.0, float(np.abs(exclude_law(p, q) - p).sum() / 2)
    for name, entries, full in (("draft_top", token.draft_top, full_q), ("target_top", token.target_top or (), full_p)):
        yield f"{name} length", len(entries), 20
        for (i, _, prob), best in zip(entries, np.sort(full)[::-1], strict=False):
            yield f"{name} {i}", prob, full[i]
            yield f"{name} {i} is in order", prob, best


def check_numbers(pair: Pair, trace: Trace, tolerance: float) -> int:
    """Compare every drafted and every emitted token's numbers; how many drafted tokens were compared."""
    config, ids, compared = trace.header.config, list(trace.header.prompt.token_ids), 0
    for step in trace.steps:
        drafted = [t.token_id for t in step.drafted]
        target, draft = (full_pass(pair, side, [*ids, *drafted])[len(ids) - 1 :] for side in ("target", "draft"))
        for i, token in enumerate(step.drafted):
            for name, recorded, true in expected(token, target[i], draft[i], config):
                assert recorded == pytest.approx(true, abs=tolerance, rel=tolerance), f"{name} at position {token.position}"
            compared += 1
        if step.emitted is not None:
            row = target[len(step.accepted)]
            p = sampling_softmax(row, config)
            assert step.emitted.target_prob == pytest.approx(p[step.emitted.token_id], abs=tolerance)
            assert step.emitted.target_entropy == pytest.approx(entropy(softmax(row / (config.temperature or 1))), abs=tolerance)
            assert step.emitted.prob == pytest.approx(_law(step, p, draft, config)[step.emitted.token_id], abs=3 * tolerance)
        ids += step.token_ids
    return compared


def _law(step: Step, p: Array, draft: Array, config: Config) -> Array:
    """What the emitted token was drawn from."""
    assert step.emitted is not None
    if step.emitted.source == "residual":
        residual = np.maximum(p - sampling_softmax(draft[len(step.accepted)], config), 0)
        return residual / residual.sum()
    if step.emitted.source == "target_excluding_draft":
        rest = p.copy()
        rest[step.drafted[len(step.accepted)].token_id] = 0
        return rest / rest.sum()
    return p


SETTINGS = (
    CONFIG,
    replace(CONFIG, temperature=1.0, resample="exclude", draft_threshold=0.2, target_threshold=0.2, overlap_threshold=0.1),
    replace(CONFIG, temperature=0.0),
    replace(CONFIG, temperature=0.9, top_k=12, k=5),
    replace(CONFIG, temperature=1.2, top_p=0.8, k=20),
)


@pytest.mark.parametrize("config", SETTINGS, ids=["plain", "exclude", "greedy", "top-k", "top-p"])
def test_recorded_numbers_are_a_teacher_forced_passs(pair: Pair, config: Config) -> None:
    compared = 0
    for text in ("the quick brown fox", "a token", "decides"):
        trace = run(pair, config, encode_prompt(pair, text))
        compared += check_numbers(pair, trace, TOLERANCE)
        assert store.parse(dumps(trace)) == trace
    assert compared > 20


@pytest.mark.pair
@pytest.mark.parametrize("config", SETTINGS[:2], ids=["plain", "exclude"])
def test_recorded_numbers_are_a_teacher_forced_passs_on_the_demo_pair(demo_pair: Pair, config: Config) -> None:
    trace = run(demo_pair, replace(config, max_new_tokens=24), encode_prompt(demo_pair, PROMPTS[0]))
    assert check_numbers(demo_pair, trace, TOLERANCE) > 20


def test_a_wrong_number_is_noticed(pair: Pair) -> None:
    """The control: the comparison fails where a recorded number is off by a thousandth."""
    trace = run(pair, CONFIG, encode_prompt(pair, "the fox"))
    step = trace.steps[0]
    wrong = replace(step.drafted[0], draft_entropy=step.drafted[0].draft_entropy + 1e-3 * (1 + step.drafted[0].draft_entropy))
    with pytest.raises(AssertionError, match="draft_entropy"):
        check_numbers(pair, replace(trace, steps=(replace(step, drafted=(wrong, *step.drafted[1:])),)), TOLERANCE)


def same_run(a: Trace, b: Trace) -> None:
    """Equal tokens, outcomes and draws; probabilities within float32 rounding of different batchings."""
    assert a.token_ids == b.token_ids
    for x, y in zip(a.steps, b.steps, strict=True):
        assert [(t.token_id, t.outcome, t.uniform) for t in x.drafted] == [(t.token_id, t.outcome, t.uniform) for t in y.drafted]
        for s, t in zip(x.drafted, y.drafted, strict=True):
            assert s.target_entropy == pytest.approx(t.target_entropy, abs=TOLERANCE)


def test_resumed_equals_uninterrupted_at_every_step(pair: Pair) -> None:
    prompt = encode_prompt(pair, "the quick")
    whole = run(pair, CONFIG, prompt)
    for cut in range(len(whole.steps) + 1):
        same_run(run(pair, CONFIG, prompt, resume=whole.steps[:cut]), whole)


@pytest.mark.pair
def test_resumed_equals_uninterrupted_on_the_demo_pair(demo_pair: Pair) -> None:
    prompt, config = encode_prompt(demo_pair, PROMPTS[0]), replace(CONFIG, max_new_tokens=20)
    whole = run(demo_pair, config, prompt)
    for cut in range(len(whole.steps) + 1):
        same_run(run(demo_pair, config, prompt, resume=whole.steps[:cut]), whole)


@pytest.mark.pair
def test_gate_closed_is_sd_on_the_demo_pair(demo_pair: Pair) -> None:
    prompt = encode_prompt(demo_pair, PROMPTS[1])
    closed, sd = (
        run(demo_pair, replace(CONFIG, **change), prompt)
        for change in ({"draft_threshold": math.inf}, {"mode": "sd"})  # type: ignore[arg-type]
    )
    assert [s.drafted for s in closed.steps] == [s.drafted for s in sd.steps]
    assert [s.emitted for s in closed.steps] == [s.emitted for s in sd.steps]


def test_draft_equal_to_target_accepts_everything(tmp_path: Path) -> None:
    spec = tiny.make_pair(tmp_path, "llama", noise=0.0)
    pair = load_pair(spec, dtype="float32", device="cpu")
    trace = run(pair, replace(CONFIG, mode="sd"), encode_prompt(pair, "the fox"))
    assert {t.outcome for s in trace.steps for t in s.drafted} <= {"accepted", "discarded"}


def test_a_tokens_text_and_bytes_are_recorded(pair: Pair) -> None:
    trace = run(pair, replace(CONFIG, temperature=2.0, max_new_tokens=100), encode_prompt(pair, "é"))
    raw = b"".join(
        bytes.fromhex(t.bytes) if t.bytes else t.text.encode()
        for s in trace.steps
        for t in [*s.accepted, *([s.emitted] if s.emitted else [])]
    )
    assert trace.footer is not None
    assert raw.decode(errors="replace") == trace.footer.text
    assert any(t.bytes for s in trace.steps for t in s.drafted), "the fixture drew no partial character: nothing was tested"
