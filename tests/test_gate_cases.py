"""One table of cases for the decision rule, ties above all, tested alike in Python, in NumPy and in JavaScript."""

import json
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import make_trace

from easd_viz.replay import arrays
from easd_viz.trace import Config, Trace
from easd_viz.verify import Gate, judge

CASES = json.loads((Path(__file__).parent / "data" / "gate_cases.json").read_text())
DECIDE_JS = Path(__file__).parents[1] / "assets" / "js" / "decide.js"
NAMES = [case["name"] for case in CASES]


def gate(case: dict) -> Gate:
    knobs = {name: math.inf if value == "inf" else value for name, value in case["gate"].items()}
    return Gate(**knobs)


def trace(case: dict) -> Trace:
    """A run whose only drafted token is the case's."""
    config = Config(temperature=0 if case["gate"]["greedy"] else 1.0)
    made = make_trace(steps=1, gamma=1, config=config)
    token = replace(
        made.steps[0].drafted[0],
        draft_top=tuple((i, str(i), 0.0) for i in case["draft_ids"]),
        target_top=tuple((i, str(i), 0.0) for i in case["target_ids"]),
        **{name: case[name] for name in ("draft_prob", "target_prob", "uniform", "draft_entropy", "target_entropy")},
        outcome="accepted",
    )
    return replace(made, steps=(replace(made.steps[0], drafted=(token,)),))


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_python(case):
    verdict = judge(trace(case).steps[0].drafted[0], gate(case))
    assert verdict.outcome == case["expected"], f"{case['name']}: {verdict}"


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_numpy(case):
    data = arrays([trace(case)])
    assert data.overlap_at(case["gate"]["k"])[0] == case["expected_overlap"]
    assert bool(data.accepted_by_sd[0]) == (case["expected"] != "rejected")
    assert bool(data.gated(gate(case))[0]) == (case["expected"] == "gated"), case["name"]


SCRIPT = """
import { readFileSync } from "node:fs";
const { decide, overlap } = await import(process.argv[1]);
const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
const number = (value) => (value === "inf" ? Infinity : value);
const out = cases.map((c) => {
  const gate = { ...c.gate, draft_threshold: number(c.gate.draft_threshold), target_threshold: number(c.gate.target_threshold) };
  const shared = overlap(c.draft_ids, c.target_ids, gate.k);
  return { overlap: shared, outcome: decide({ ...c, overlap: shared, gate }).outcome };
});
console.log(JSON.stringify(out));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed, so JavaScript can't be run outside a browser")
def test_javascript():
    path = Path(__file__).parent / "data" / "gate_cases.json"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT, str(DECIDE_JS), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"the browser's decide does not run under node:\n{done.stderr}"
    for case, found in zip(CASES, json.loads(done.stdout), strict=True):
        assert found["overlap"] == case["expected_overlap"], f"{case['name']}: JavaScript's overlap is {found['overlap']}"
        assert found["outcome"] == case["expected"], f"{case['name']}: JavaScript says {found['outcome']}"
