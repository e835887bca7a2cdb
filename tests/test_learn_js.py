"""The laws that the chapters draw (assets/js/learn/laws.js) against the package's own, and the order of quiz questions."""

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

LAWS = Path(__file__).parents[1] / "assets" / "js" / "learn" / "laws.js"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed: JavaScript runs in a browser only")


def node(expression: str, given: Any) -> Any:
    """The value of a JavaScript expression over ``given`` and the module ``laws``."""
    script = (
        'import { readFileSync } from "node:fs"; const laws = await import(process.argv[1]);'
        f'const given = JSON.parse(readFileSync(0, "utf8")); console.log(JSON.stringify({expression}));'
    )
    command = ["node", "--input-type=module", "-e", script, str(LAWS)]
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


def test_the_drawn_law_of_the_open_gate_is_the_closed_form():
    p, q = pairs()
    beta = np.minimum(p, q).sum(-1)
    rows = [[{"p": a, "q": b, "beta": c} for a, b in zip(ps, qs, strict=True)] for ps, qs, c in zip(p, q, beta, strict=True)]
    law = np.array(node("given.map((row) => row.map((each) => laws.gatedLaw(each, each.beta)))", rows))
    assert law.sum(-1) == pytest.approx(1)
    residual = np.maximum(p - q, 0) / (1 - beta)[:, None]
    assert law == pytest.approx(beta[:, None] * p + (1 - beta)[:, None] * residual)
    tv = sampling.tv_target(torch.tensor(p), torch.tensor(np.maximum(p - q, 0)), torch.tensor(beta))
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
