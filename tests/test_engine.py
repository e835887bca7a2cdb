"""The engine on fake models: rounds, stops, resume, forced verdicts, costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from fakes import FakePair, constant_pair, context_pair

from easd_viz import store
from easd_viz.engine import Decoding, EngineError, decode
from easd_viz.record import encode_prompt, record, with_text
from easd_viz.trace import Config, Step, Trace, dumps

EASD = Config(max_new_tokens=60, draft_threshold=1.5, target_threshold=1.5, overlap_threshold=0.3, seed=3)
PROMPT = "abc"


def run(pair: FakePair, config: Config, resume: Sequence[Step] = ()) -> Trace:
    *_, last = record(pair, encode_prompt(pair, PROMPT), config, resume=resume)  # type: ignore[arg-type]
    return last


def untimed(steps: Sequence[Step]) -> list[Step]:
    return [replace(s, draft_ms=0, verify_ms=0, record_ms=0) for s in steps]


def outcomes(trace: Trace) -> set[str]:
    return {t.outcome for s in trace.steps for t in s.drafted}


def test_a_run_has_every_outcome_and_reads_back_equal() -> None:
    trace = run(context_pair(), EASD)
    assert outcomes(trace) == {"accepted", "rejected", "gated", "discarded"}, "the fixture no longer exercises every outcome"
    assert store.parse(dumps(trace)) == trace, "a trace changes when it is written and read"
    assert trace.footer is not None
    assert trace.footer.stop_reason == "length"
    assert len(trace.token_ids) == EASD.max_new_tokens


@pytest.mark.parametrize("resample", ["target", "exclude"])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_gate_closed_is_sd(temperature: float, resample: str) -> None:
    config = replace(EASD, temperature=temperature, resample=resample, draft_threshold=math.inf)
    easd, sd = run(context_pair(), config), run(context_pair(), replace(config, mode="sd"))
    assert untimed(easd.steps) == untimed(sd.steps), "a gate that never fires must give SD's very trace"
    opened = run(context_pair(), replace(config, draft_threshold=0.0, target_threshold=0.0, overlap_threshold=0.0))
    assert untimed(opened.steps) != untimed(sd.steps), "the control: an open gate must differ"


@pytest.mark.parametrize("seed", range(5))
def test_greedy_sd_is_the_targets_own_greedy_text(seed: int) -> None:
    config = replace(EASD, mode="sd", temperature=0.0)
    sd, target = run(context_pair(seed), config), run(context_pair(seed), replace(config, mode="target"))
    assert sd.token_ids == target.token_ids


@pytest.mark.parametrize("mode", ["easd", "sd", "target", "draft"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_resumed_equals_uninterrupted_at_every_step(mode: str, temperature: float) -> None:
    config = replace(EASD, mode=mode, temperature=temperature, max_new_tokens=25, top_k=8)
    whole = run(context_pair(eos=(7,)), config)
    for cut in range(len(whole.steps) + 1):
        resumed = run(context_pair(eos=(7,)), config, resume=whole.steps[:cut])
        assert untimed(resumed.steps) == untimed(whole.steps), f"resuming after step {cut} changed the run"
        assert resumed.footer is not None
        assert whole.footer is not None
        assert resumed.footer.stop_reason == whole.footer.stop_reason


def test_stopping_early_is_asking_no_more() -> None:
    pair = context_pair()
    decoding = decode(pair, [0, 1], EASD)
    first = next(decoding)
    rest = list(decode(pair, [0, 1], EASD, resume=[first]))
    assert untimed([first, *rest]) == untimed(list(decode(pair, [0, 1], EASD)))
    trace = replace(run(pair, EASD), steps=(with_text(first, pair.tokenizer),)).finished("stopped")  # type: ignore[arg-type]
    assert trace.footer is not None
    assert trace.footer.text == pair.tokenizer.decode(first.token_ids)


def test_a_round_costs_gamma_draft_forwards_and_one_target_forward() -> None:
    pair = context_pair()
    decoding = decode(pair, [0, 1, 2], EASD)
    for step in decoding:
        drafted = len(step.drafted)
        assert len(pair.draft.calls) == drafted, "one draft forward per drafted token"
        assert pair.draft.calls[0] in (1, 2), "the draft takes in the unseen tokens only"
        assert pair.draft.calls[1:] == [1] * (drafted - 1)
        assert pair.target.calls == [drafted + 1], "one target forward of at most gamma + 1 tokens"
        pair.draft.calls.clear()
        pair.target.calls.clear()
    assert pair.draft.prefills == pair.target.prefills == [2], "one prefill each, of all tokens but the last"


def _noting(name: str, calls: list[str]) -> Callable[..., Any]:
    original = getattr(torch.Tensor, name)

    def noted(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return original(self, *args, **kwargs)

    return noted


@pytest.mark.parametrize("gamma", [1, 16])
def test_one_copy_to_the_host_per_round(gamma: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = context_pair()
    decoding = decode(pair, [0, 1, 2], replace(EASD, gamma=gamma))
    copies: list[str] = []
    for name in ("item", "cpu", "numpy", "__bool__", "__int__", "__float__"):
        monkeypatch.setattr(torch.Tensor, name, _noting(name, copies))
    next(decoding)
    assert copies == ["cpu", "numpy"], "a round must look at its device once (a CPU tensor's numpy() is the same memory)"


def test_end_of_text_inside_a_block() -> None:
    """An accepted EOS ends the run; what was drafted behind it is discarded and nothing is emitted after it."""
    pair = constant_pair([0.0, 1.0, 0.0], [0.0, 1.0, 0.0])
    pair.eos_token_ids = frozenset({1})
    trace = run(pair, replace(EASD, mode="sd", gamma=4))
    assert [t.outcome for t in trace.steps[0].drafted] == ["accepted", "discarded", "discarded", "discarded"]
    assert trace.steps[0].emitted is None
    assert trace.token_ids == (1,)
    assert trace.footer is not None
    assert trace.footer.stop_reason == "eos"
    assert store.parse(dumps(trace)) == trace
    assert list(decode(pair, [0], EASD, resume=trace.steps)) == [], "a run that has ended has no more steps"


def test_emitted_end_of_text_ends_the_run() -> None:
    pair = constant_pair([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    pair.eos_token_ids = frozenset({1})
    trace = run(pair, replace(EASD, mode="sd"))
    assert [t.outcome for t in trace.steps[0].drafted][:2] == ["rejected", "discarded"]
    assert trace.steps[0].emitted is not None
    assert trace.steps[0].emitted.source == "residual"
    assert trace.token_ids == (1,)


@pytest.mark.parametrize("mode", ["easd", "target", "draft"])
def test_prompt_at_the_context_limit(mode: str) -> None:
    config = replace(EASD, mode=mode, gamma=4)
    near = context_pair(context=5)
    steps = list(decode(near, [0, 1, 2], config))
    assert sum(len(s.token_ids) for s in steps) == 2, "the run fills the context and no more"
    with pytest.raises(EngineError, match=r"has 5 tokens.*context holds 5.*shorten"):
        decode(near, [0, 1, 2, 3, 4], config)


def test_one_token_prompt_and_none() -> None:
    steps = list(decode(context_pair(), [4], replace(EASD, max_new_tokens=5)))
    assert steps[0].drafted[0].position == 1
    with pytest.raises(EngineError, match="no tokens"):
        decode(context_pair(), [], EASD)


def test_k_above_the_vocabulary() -> None:
    trace = run(context_pair(vocab=6), replace(EASD, k=20, max_new_tokens=10))
    assert {t.overlap for s in trace.steps for t in s.drafted} == {1.0}
    assert {len(t.draft_top) for s in trace.steps for t in s.drafted} == {6}
    assert store.parse(dumps(trace)) == trace


@pytest.mark.parametrize("side", ["draft", "target"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_logits_that_are_not_finite_raise(side: str, bad: float) -> None:
    pair = context_pair(vocab=30)
    model = getattr(pair, side)
    good = model.rule
    model.rule = lambda tokens: torch.where(torch.arange(30) == 3, bad, good(tokens)) if len(tokens) > 8 else good(tokens)
    with pytest.raises(EngineError, match=rf"fake-{side} gave logits that are not finite for position \d+ in float32"):
        list(decode(pair, [0, 1], EASD))


def test_padded_rows_have_no_probability() -> None:
    """Draft and target pad their embeddings differently: only the common prefix can be drawn or listed."""
    pair = context_pair(vocab=30)
    plain = list(decode(pair, [0, 1], EASD))
    padded = context_pair(vocab=30)
    for model, rows in ((padded.draft, 2), (padded.target, 5)):
        good = model.rule
        model.rule = lambda tokens, _f=good, _n=rows: torch.cat((_f(tokens), torch.full((_n,), 50.0)))
        model.vocab_size = 30 + rows
    assert untimed(list(decode(padded, [0, 1], EASD))) == untimed(plain)


@pytest.mark.parametrize("verdict", ["accepted", "rejected", "gated"])
def test_a_forced_verdict_changes_that_verdict_only(verdict: str) -> None:
    pair = context_pair()
    whole = list(decode(pair, [0, 1, 2], EASD))
    step, token = next((s, t) for s in whole for t in s.on_path if t.outcome != verdict and t.draft_index == 1)
    branch = decode(pair, [0, 1, 2], EASD, resume=whole[: step.index], forced={token.position: verdict})  # type: ignore[dict-item]
    first = next(branch)
    assert first.drafted[0] == replace(token, outcome=verdict)
    assert [replace(t, outcome="accepted") for t in first.drafted] == [replace(t, outcome="accepted") for t in step.drafted], (
        "drafts, draws and numbers of the round must stay"
    )


def test_a_forced_verdict_without_a_law_is_refused() -> None:
    pair = constant_pair([1.0, 0.0], [1.0, 0.0])
    with pytest.raises(EngineError, match="can't be rejected"):
        next(decode(pair, [0], EASD, forced={1: "rejected"}))
    with pytest.raises(EngineError, match="can't be gated"):
        next(decode(pair, [0], replace(EASD, resample="exclude"), forced={1: "gated"}))


def test_different_thresholds_share_their_luck_up_to_the_first_different_decision() -> None:
    a = untimed(list(decode(context_pair(), [0, 1, 2], EASD)))
    b = untimed(list(decode(context_pair(), [0, 1, 2], replace(EASD, draft_threshold=2.5))))
    same = next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    assert same > 0
    assert [replace(t, outcome="accepted") for t in a[same].drafted] == [replace(t, outcome="accepted") for t in b[same].drafted]


def test_lists_off_changes_no_token() -> None:
    with_lists = [s.token_ids for s in decode(context_pair(), [0, 1], EASD)]
    assert [s.token_ids for s in decode(context_pair(), [0, 1], EASD, lists=False)] == with_lists


def test_greedy_exclude_emits_the_second_choice() -> None:
    pair = constant_pair([0.6, 0.3, 0.1], [0.5, 0.2, 0.3])
    config = replace(EASD, temperature=0.0, draft_threshold=0, target_threshold=0, overlap_threshold=0, resample="exclude")
    step = next(decode(pair, [0], config))
    assert step.drafted[0].outcome == "gated"
    assert step.drafted[0].tv_exclude == 1.0
    assert step.emitted is not None
    assert (step.emitted.token_id, step.emitted.source) == (2, "target_excluding_draft")
    under_target = next(decode(pair, [0], replace(config, resample="target")))
    assert under_target.emitted is not None
    assert under_target.emitted.token_id == 0, "the target rule re-emits the very token that SD accepted"


def test_decoding_is_an_iterator_that_tells_how_it_ended() -> None:
    decoding = decode(context_pair(), [0], replace(EASD, max_new_tokens=1))
    assert isinstance(decoding, Decoding)
    assert decoding.stop_reason is None
    assert len(list(decoding)) == 1
    assert decoding.stop_reason == "length"
