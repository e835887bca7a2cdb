"""The browser's copies of the metrics and the replay agree with Python's, and its texts are made as they should (under node)."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import PIECES, make_trace

from easd_viz import metrics, replay
from easd_viz.trace import Config, Trace
from easd_viz.verify import Gate
from easd_viz.views.data import view_model

SCRIPTS = Path(__file__).parents[1] / "assets" / "js"

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None, reason="node is not installed, so JavaScript can't be run outside a browser"
)


def in_node(script: str, value: object) -> object:
    """The JSON that a script prints; it finds ``value`` in ``input`` and the modules by ``js("store.js")``."""
    lead = (
        'import { readFileSync } from "node:fs";\n'
        f"const js = (name) => import({json.dumps(SCRIPTS.as_uri())} + '/' + name);\n"
        'const input = JSON.parse(readFileSync(0, "utf8"));\n'
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", lead + script],
        input=json.dumps(value),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


STORE = """
const { storeOf } = await js("store.js");
const store = storeOf("test");
store.setValue(input.value);
if (input.gate) store.setGate(input.gate);
"""


def traces() -> list[Trace]:
    ended = make_trace(seed=8, steps=12)
    return [
        make_trace(seed=1, steps=50),
        make_trace(seed=2, steps=30, gamma=1),
        make_trace(seed=3, steps=30, config=Config(mode="sd")),
        make_trace(seed=4, steps=30, config=Config(mode="target")),
        make_trace(seed=5, steps=10, config=Config(mode="draft")),
        replace(ended, footer=None),
    ]


@pytest.mark.parametrize("trace", traces(), ids=["easd", "gamma 1", "sd", "target", "draft", "still running"])
def test_metrics_are_those_of_python(trace):
    found = in_node(STORE + "console.log(JSON.stringify(store.metrics));", {"value": view_model(trace).value})
    expected = metrics.summarise(trace)
    for name in ("acceptance_rate", "expected_acceptance", "draft_utilisation", "block_efficiency", "gate_rate", "throughput"):
        ratio = getattr(expected, name)
        assert found[name]["value"] == pytest.approx(ratio.value), name
        assert found[name]["numerator"] == pytest.approx(ratio.numerator), name
    assert found["expected_speed_up"] == pytest.approx(expected.expected_speed_up)
    for ours, theirs in zip(found["by_index"], expected.conditional_acceptance, strict=True):
        assert (ours["accepted"]["numerator"], ours["accepted"]["denominator"]) == (theirs.numerator, theirs.denominator)
    assert found["counts"]["emitted"] == expected.counts.emitted


@pytest.mark.parametrize("k", [1, 5, 10, 20])
@pytest.mark.parametrize("resample", ["target", "exclude"])
@pytest.mark.parametrize("thresholds", [(2.5, 2.5, 0.4), (1.0, 2.0, 0.1), (0.0, 0.0, 0.0), (9.0, 0.0, 0.0)])
def test_rejudging_is_that_of_python(thresholds, k, resample):
    trace = make_trace(seed=6, steps=40)
    draft, target, overlap = thresholds
    knobs = {"draft_threshold": draft, "target_threshold": target, "overlap_threshold": overlap, "k": k, "resample": resample}
    found = in_node(STORE + "console.log(JSON.stringify(store.replay));", {"value": view_model(trace).value, "gate": knobs})
    expected = replay.rejudge(trace, Gate(**knobs, greedy=False))
    assert [o for row in found["outcomes"] for o in row] == [t.now for t in expected.tokens]
    assert [r for row in found["regions"] for r in row] == [t.region for t in expected.tokens]
    assert (found["boundary"] is None) == (expected.boundary is None)
    if expected.boundary is not None:
        names = ("step", "position", "reason", "goes_on", "last_known")
        assert {n: found["boundary"][n] for n in names} == {n: getattr(expected.boundary, n) for n in names}


def test_the_text_of_the_path_is_the_decoded_text():
    trace = make_trace(seed=1, steps=120)
    script = STORE + "console.log(JSON.stringify(store.entries.filter(e => e.onPath).map(e => e.text).join('')));"
    raw = b"".join(PIECES[i] for i in trace.token_ids)
    whole = raw.decode("utf-8", "ignore")
    assert in_node(script, {"value": view_model(trace).value}) == whole


def test_steps_that_come_in_are_added_and_a_new_trace_starts_anew():
    whole = make_trace(seed=1, steps=20)
    part = replace(whole, steps=whole.steps[:15], footer=None)
    script = """
    const { storeOf } = await js("store.js");
    const store = storeOf("test");
    const seen = [];
    for (const value of input) {
      store.setValue(value);
      seen.push([store.generation, store.trace?.rounds.length ?? 0, store.entries.length, store.trace?.foot != null]);
    }
    console.log(JSON.stringify(seen));
    """
    other = make_trace(seed=2, steps=3)
    values = [view_model(part).value, view_model(whole).value, view_model(other).value, {"head": None, "steps": [], "foot": None}]
    seen = in_node(script, values)
    assert [s[0] for s in seen[:3]] == [1, 1, 2], "a longer run of the same trace is not a new one; another trace is"
    assert [s[1] for s in seen] == [15, 20, 3, 0]
    assert [s[3] for s in seen] == [False, True, True, False]


def test_the_selection_moves_over_to_a_branch_where_the_token_is_the_same():
    whole = make_trace(seed=1, steps=20)
    branch = replace(whole, header=replace(whole.header, created="2026-02-02T00:00:00Z"), steps=whole.steps[:8], footer=None)
    script = """
    const { storeOf } = await js("store.js");
    const store = storeOf("test");
    store.setValue(input.whole);
    store.select(input.key);
    store.setValue(input.branch);
    console.log(JSON.stringify(store.selected));
    """
    given = {"whole": view_model(whole).value, "branch": view_model(branch).value}
    assert in_node(script, {**given, "key": "3.1"}) == "3.1"
    assert in_node(script, {**given, "key": "12.1"}) is None


def test_infinite_thresholds_close_the_gate():
    trace = make_trace(seed=1, steps=5, config=Config(draft_threshold=math.inf, target_threshold=math.inf))
    found = in_node(
        STORE + "console.log(JSON.stringify([store.gate.draft_threshold === Infinity, store.replay.boundary]));",
        {"value": view_model(trace).value},
    )
    assert found == [True, None]


PACED = """
let now = 0;
Object.defineProperty(globalThis, "performance", { value: { now: () => now } });
const rests = [];
globalThis.setTimeout = (go, ms) => rests.push([go, ms]);
const { follow } = await js("pace.js");
const drawn = [];
const plot = (name, cost) => ({ settle: async () => { drawn.push([name, now]); now += cost; } });
const [a, b] = [plot("a", 10), plot("b", 5)];
const rest = async () => {
  const [go, ms] = rests.shift();
  now += ms;
  await go();
};
const asked = async (...plots) => { plots.forEach(follow); await null; await null; await null; };
await asked(a, b, b);
const first = [...drawn];
await asked(a);
await rest();
await rest();
await rest();
const idle = rests.length;
await asked(b);
console.log(JSON.stringify({ first, drawn, idle }));
"""


def test_plots_that_follow_a_run_draw_one_by_one_and_rest_four_times_as_long():
    found = in_node(PACED, None)
    assert found["first"] == [["a", 0]], "only one draws at once"
    # a: 10 ms and 40 of rest; b, asked for twice, once: 5 and 20; a again; nothing more waits; then b at once
    assert found["drawn"] == [["a", 0], ["b", 50], ["a", 75], ["b", 125]]
    assert found["idle"] == 0, "nothing is left to wait for"
