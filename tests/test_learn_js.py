"""The laws that the views draw (assets/js/laws.js) against the package's own, and the chapters' draws and order of questions."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from easd_viz import examples, sampling
from easd_viz.trace import step_json

SCRIPTS = Path(__file__).parents[1] / "assets" / "js"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed: JavaScript runs in a browser only")


def node(expression: str, given: Any) -> Any:
    """The value of a JavaScript expression over ``given`` and ``laws``, both modules of that name together."""
    script = (
        'import { readFileSync } from "node:fs"; const [, shared, own] = process.argv;'
        "const laws = { ...(await import(shared)), ...(await import(own)) };"
        f'const given = JSON.parse(readFileSync(0, "utf8")); console.log(JSON.stringify({expression}));'
    )
    command = ["node", "--input-type=module", "-e", script, str(SCRIPTS / "laws.js"), str(SCRIPTS / "learn" / "laws.js")]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"laws.js does not run under node:\n{done.stderr}"
    return json.loads(done.stdout)


def pairs(count: int = 20, vocab: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.dirichlet(np.ones(vocab) * 0.6, count), rng.dirichlet(np.ones(vocab) * 0.6, count)


def test_kept_and_surplus_add_up_to_the_target():
    p, q = pairs()
    rows = [{"p": a, "q": b} for a, b in zip(p.ravel(), q.ravel(), strict=True)]
    split = node("given.map(laws.split)", rows)
    assert [each["kept"] + each["surplus"] for each in split] == pytest.approx(p.ravel())
    assert [each["kept"] + each["excess"] for each in split] == pytest.approx(q.ravel())


@pytest.mark.parametrize("rule", ["target", "exclude"])
def test_the_drawn_law_of_the_open_gate_is_the_closed_form(rule):
    p, q = pairs()
    beta = np.minimum(p, q).sum(-1)
    tops = [[[[i, str(i), prob] for i, prob in enumerate(law)] for law in both] for both in zip(p, q, strict=True)]
    tokens = [{"target_top": a, "draft_top": b, "beta": c} for (a, b), c in zip(tops, beta, strict=True)]
    emitted = f"laws.emittedLaw(token, {json.dumps(rule)}).sort((a, b) => a.id - b.id)"
    rows = node(f"given.map((token) => {emitted})", tokens)
    assert all(row["isNear"] == (rule == "exclude") for each in rows for row in each), "whole lists leave nothing to estimate"
    law = np.array([[row["emitted"] for row in each] for each in rows])
    assert law.sum(-1) == pytest.approx(1)
    residual, both = np.maximum(p - q, 0), np.minimum(p, q)
    if rule == "target":
        resampled = beta[:, None] * p
    else:
        without = np.stack([np.where(np.eye(p.shape[1])[x], 0, p) / (1 - p[:, [x]]) for x in range(p.shape[1])], axis=1)
        resampled = np.einsum("nx,nxy->ny", both, without)
    assert law == pytest.approx(resampled + residual)
    tensors = [torch.tensor(each) for each in (p, residual)]
    tv = sampling.tv_target(*tensors, torch.tensor(beta))
    if rule == "exclude":
        tv = sampling.tv_exclude(*tensors, torch.tensor(both), greedy=False)
    assert np.abs(law - p).sum(-1) / 2 == pytest.approx(tv.numpy(), abs=1e-6)
    assert np.abs(law - p).max() > 0.01, "the law equals the target's: this test could not tell them apart"


def test_both_sides_of_a_recorded_token_are_joined_with_their_bounds():
    token = step_json(examples.load(examples.EXAMPLES[0].name).steps[0])["drafted"][0]
    rows = node("laws.sides(given)", {name: token[name] for name in ("draft_top", "target_top")})
    p = {i: prob for i, _, prob in token["target_top"]}
    q = {i: prob for i, _, prob in token["draft_top"]}
    assert {row["id"] for row in rows} == set(p) | set(q)
    for row in rows:
        assert row["p"] == p.get(row["id"], 0)
        assert row["q"] == q.get(row["id"], 0)
        assert row["pAtMost"] == (None if row["id"] in p else min(p.values()))
        assert row["qAtMost"] == (None if row["id"] in q else min(q.values()))


def test_a_draw_falls_on_the_token_that_the_pile_has_there():
    top = [[7, "a", 0.5], [8, "b", 0.3]]
    draws = [0.01, 0.5, 0.51, 0.8, 0.81, 1]
    assert node(f"{json.dumps(draws)}.map((u) => laws.under(given, u))", top) == [0, 0, 1, 1, -1, -1]


@pytest.mark.parametrize("verdicts", ["rrrrrrrraaag", "a", "rrrr", "gar"])
def test_questions_change_between_verdicts_and_none_is_lost(verdicts):
    entries = [{"n": i, "verdict": verdict} for i, verdict in enumerate(verdicts)]
    order = node("laws.mixed(given, (each) => each.verdict)", entries)
    assert sorted(each["n"] for each in order) == list(range(len(verdicts)))
    kinds = len(set(verdicts))
    assert {each["verdict"] for each in order[:kinds]} == set(verdicts), "the first questions must not all have one answer"
