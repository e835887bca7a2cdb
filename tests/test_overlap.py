"""The fit of a draft to a target: known distributions, answers read back, the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from fakes import constant_pair, context_pair
from tiny import make_pair

from easd_viz import overlap
from easd_viz.__main__ import main
from easd_viz.engine import decode
from easd_viz.overlap import Question
from easd_viz.trace import Config

Q, P = [0.5, 0.3, 0.2, 0.0], [0.25, 0.45, 0.1, 0.2]
BETA = 0.25 + 0.3 + 0.1
PLAIN = Config(mode="sd", temperature=1.0, max_new_tokens=30)


def test_constant_distributions_give_the_known_overlap() -> None:
    answers = list(overlap.measure(constant_pair(Q, P), [Question([0, 1], "a"), Question([2], "b")], PLAIN))
    found = overlap.fit(answers)
    assert (found.positions, found.answers) == (60, 2)
    assert found.beta == pytest.approx(BETA, abs=1e-6)
    assert found.greedy == 0, "the likeliest tokens differ: q's is 0, p's is 1"
    entropy = -sum(x * math.log(x) for x in P)
    assert answers[0].target_entropy == pytest.approx([entropy] * 30, abs=1e-5)


def test_temperature_enters_both_distributions() -> None:
    found = overlap.fit(list(overlap.measure(constant_pair(Q, P), [Question([0])], Config(mode="sd", temperature=0.5))))
    sharp_q, sharp_p = ([x * x / sum(y * y for y in d) for x in d] for d in (Q, P))
    assert found.beta == pytest.approx(sum(map(min, sharp_q, sharp_p)), abs=1e-6)


def test_a_model_fits_itself() -> None:
    pair = constant_pair(P, P)
    found = overlap.fit(list(overlap.measure(pair, [Question([0])], PLAIN)))
    assert found.beta == pytest.approx(1, abs=1e-6)
    assert found.greedy == 1


def test_positions_are_those_that_predict_the_answer() -> None:
    """Against SD's own record of beta: a run with gamma 1 visits each position of its text with the same context."""
    pair = context_pair(seed=4)
    config = Config(mode="sd", gamma=1, temperature=1.0, max_new_tokens=40, seed=5)
    steps = list(decode(pair, [1, 2, 3], config))
    ids = [i for step in steps for i in step.token_ids]
    answer = overlap.compare(pair, [1, 2, 3], ids, "", config)
    recorded = {t.position - 3: t.beta for step in steps for t in step.drafted}
    assert recorded
    for place, beta in recorded.items():
        assert answer.beta[place] == pytest.approx(beta, abs=1e-5), f"beta at place {place} of the answer is of another context"


def test_the_answer_is_the_targets_own() -> None:
    pair = context_pair(seed=6)
    alone = [i for s in decode(pair, [1], Config(mode="target", temperature=1.0, max_new_tokens=30)) for i in s.token_ids]
    (answer,) = overlap.measure(pair, [Question([1])], PLAIN)
    expected = overlap.compare(pair, [1], alone, "", PLAIN)
    assert answer == expected


def test_an_answer_given_before_is_read_as_it_is() -> None:
    pair = context_pair(seed=8)
    given = [4, 7, 1]
    (answer,) = overlap.measure(pair, [Question([1, 2], "", given)], PLAIN)
    assert answer == overlap.compare(pair, [1, 2], given, "", PLAIN)
    assert pair.target.calls[0] == 3, "the target generated although it had an answer"


def test_categories_keep_their_counts() -> None:
    pair = context_pair(seed=7)
    answers = list(overlap.measure(pair, [Question([1], "b"), Question([2], "a"), Question([3], "b")], PLAIN))
    parts = overlap.by_category(answers)
    assert list(parts) == ["b", "a"]
    assert (parts["b"].answers, parts["b"].positions, parts["a"].positions) == (2, 60, 30)
    whole = overlap.fit(answers)
    assert whole.beta == pytest.approx((parts["b"].beta * 60 + parts["a"].beta * 30) / 90)


def test_nothing_to_measure_is_said() -> None:
    with pytest.raises(overlap.OverlapError, match="empty"):
        overlap.fit([])


@pytest.mark.parametrize(("alpha", "gamma", "c", "expected"), [(0.5, 1, 0.0, 1.5), (1.0, 4, 0.25, 2.5), (0.0, 3, 1.0, 0.25)])
def test_expected_speed_up(alpha: float, gamma: int, c: float, expected: float) -> None:
    assert overlap.speed_up(alpha, gamma, c) == pytest.approx(expected)


def test_step_times_are_positive_and_leave_the_models_alone() -> None:
    pair = context_pair(seed=1)
    before = pair.target.rule((1, 2))
    times = overlap.step_times(pair)
    assert times.draft_ms > 0
    assert times.c == pytest.approx(times.draft_ms / times.target_ms)
    assert torch.equal(pair.target.rule((1, 2)), before)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = make_pair(tmp_path)
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "the fox", "category": "animals"}\n{"prompt": "the dog", "category": "pets"}\n')
    command = ["overlap", "--pair", spec.id, "--prompts", str(prompts), "--max-new-tokens", "5", "--device", "cpu"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["by_category"]) == {"animals", "pets"}
    assert found["all"]["n"] == sum(row["n"] for row in found["by_category"].values())
    assert 0 < found["all"]["beta"] <= 1
    assert main(command) == 0
    table = capsys.readouterr().out
    assert "animals" in table
    assert f"{found['all']['beta']:.3f}" in table, "the table and the JSON disagree"


@pytest.mark.parametrize("ids", ['"4"', "[-1]", "[99999]", "[1.5]"])
def test_command_line_refuses_answers_that_are_no_token_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str], ids: str) -> None:
    spec = make_pair(tmp_path)
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(f'{{"prompt": "the fox", "answer_ids": {ids}}}\n')
    assert main(["overlap", "--pair", spec.id, "--prompts", str(prompts), "--device", "cpu"]) == 2
    assert "answer_ids" in capsys.readouterr().err


def test_command_line_refuses_a_file_without_prompts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"question": "the fox"}\n')
    assert main(["overlap", "--prompts", str(prompts)]) == 2
    assert "prompt" in capsys.readouterr().err
