"""The browser's replay (assets/js/replay.js) against Python's, round by round."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from synthetic import make_trace

from easd_viz.replay import gate_with, rejudge
from easd_viz.trace import Config, Parent, Trace, footer_json, header_json, step_json

REPLAY_JS = Path(__file__).parents[1] / "assets" / "js" / "replay.js"

KNOBS: list[Mapping[str, Any]] = [
    {},
    {"draft_threshold": 1.0, "target_threshold": 1.0, "overlap_threshold": 0.1},
    {"draft_threshold": math.inf},
    {"k": 3, "overlap_threshold": 0.3},
    {"resample": "exclude"},
    {"draft_threshold": 2.9, "target_threshold": 2.9},
]

SCRIPT = """
import { readFileSync } from "node:fs";
const { rejudge } = await import(process.argv[1]);
const { gateOf } = await import(process.argv[2]);
const asked = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(asked.map(({ trace, config }) => {
  const { outcomes, regions, boundary } = rejudge(trace, gateOf(config));
  return { outcomes, regions, boundary };
})));
"""


def traces() -> list[Trace]:
    out = [
        make_trace(seed, 8, 4, Config(seed=seed, temperature=t, draft_threshold=2.5)) for seed, t in enumerate([0.0, 0.7, 1.0])
    ]
    out.append(make_trace(7, 8, 3, Config(mode="sd")))
    often = make_trace(5, 20, 4, Config(draft_threshold=1.0, target_threshold=1.0, overlap_threshold=0.1))
    behind = {t.token_id for s in often.steps for t in s.drafted if t.outcome == "discarded"}
    named = {"fingerprint": "x", "eos_token_ids": sorted(behind)}  # so that a walk on meets an end of text
    out.append(replace(often, header=replace(often.header, tokenizer=named)))
    other = make_trace(8, 8, 4, Config(draft_threshold=2.0, target_threshold=2.0))
    config = replace(other.header.config, draft_threshold=2.9, resample="exclude")
    forced = {other.steps[6].drafted[0].position: other.steps[6].drafted[0].outcome}
    return [*out, replace(other, header=replace(other.header, config=config, parent=Parent("0" * 16, 5, {}, forced)))]


def as_json(trace: Trace) -> dict[str, Any]:
    foot = None if trace.footer is None else footer_json(trace.footer)
    whole = {"head": header_json(trace.header), "rounds": [step_json(s) for s in trace.steps], "foot": foot}
    plain: dict[str, Any] = orjson.loads(orjson.dumps(whole, option=orjson.OPT_NON_STR_KEYS))
    return plain


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed, so JavaScript can't be run outside a browser")
def test_the_browser_replays_as_python_does():
    asked, expected = [], []
    for trace in traces():
        for values in KNOBS:
            config = {**as_json(trace)["head"]["config"], **values, **({"mode": "easd"} if values else {})}
            config = {name: "inf" if value == math.inf else value for name, value in config.items()}
            asked.append({"trace": as_json(trace), "config": config})
            expected.append(rejudge(trace, gate_with(trace.header.config, **values)))
    command = ["node", "--input-type=module", "-e", SCRIPT, str(REPLAY_JS), str(REPLAY_JS.with_name("decide.js"))]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"the browser's replay does not run under node:\n{done.stderr}"
    changed = 0
    for found, replay in zip(json.loads(done.stdout), expected, strict=True):
        outcomes, regions = defaultdict(list), defaultdict(list)
        for judged in replay.tokens:
            outcomes[judged.step].append(judged.now)
            regions[judged.step].append(judged.region)
        assert found["outcomes"] == list(outcomes.values())
        assert found["regions"] == list(regions.values())
        assert (found["boundary"] is None) == (replay.boundary is None)
        if replay.boundary is not None:
            changed += 1
            for name in ("step", "position", "reason", "goes_on", "last_known"):
                assert found["boundary"][name] == getattr(replay.boundary, name), name
    assert changed > 5, "hardly any of the knobs change anything: the test tests nothing"
