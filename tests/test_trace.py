"""Trace files: round trip, cut-off files, refusals with their line, fixtures of every schema version."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import make_trace

from easd_viz import store
from easd_viz.trace import Config, Outcome, Parent, Trace, TraceError, drafted_frame, dumps, emitted_frame, loads
from easd_viz.verify import check_step

DATA = Path(__file__).parent / "data"
TRACE = make_trace(seed=1, steps=12, gamma=4)
LINES = dumps(TRACE).splitlines()
Record = dict[str, Any]


def with_line(number: int, change: Callable[[Record], Any]) -> bytes:
    """The trace's file with one line (from 1) changed."""
    lines = list(LINES)
    record = json.loads(lines[number - 1])
    change(record)
    lines[number - 1] = json.dumps(record).encode()
    return b"\n".join(lines) + b"\n"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 16))
def test_round_trip(seed: int, steps: int, gamma: int) -> None:
    trace = make_trace(seed=seed, steps=steps, gamma=gamma)
    assert store.parse(dumps(trace)) == trace
    assert store.parse(dumps(trace)).fingerprint == trace.fingerprint


def test_files_are_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new folder" / "run.jsonl"
    store.save(TRACE, path)
    assert store.load(path) == TRACE
    before = path.read_bytes()

    def break_off(trace: Trace) -> Any:
        yield LINES[0]
        raise OSError("disk full")

    monkeypatch.setattr("easd_viz.trace.lines", break_off)
    with pytest.raises(OSError, match="disk full"):
        store.save(replace(TRACE, steps=()), path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["run.jsonl"], "a half-written file was left behind"


@pytest.mark.parametrize("cut", range(len(LINES)))
def test_a_cut_off_file_loads_up_to_its_last_whole_line(cut: int) -> None:
    whole = b"".join(line + b"\n" for line in LINES[:cut])
    partial = whole + LINES[cut][: len(LINES[cut]) // 2]
    if cut == 0:
        with pytest.raises(TraceError, match="line 1"):
            store.parse(partial)
        return
    trace = store.parse(partial)
    assert trace.incomplete
    assert trace.steps == TRACE.steps[: cut - 1]


def test_infinite_thresholds_are_the_string_inf() -> None:
    closed = make_trace(seed=2, steps=3, gamma=2, config=Config(draft_threshold=math.inf))
    assert json.loads(dumps(closed).splitlines()[0])["config"]["draft_threshold"] == "inf"
    assert store.parse(dumps(closed)).header.config.draft_threshold == math.inf


def test_unknown_fields_are_kept() -> None:
    def add(record: Record) -> None:
        record["mine"] = [1]
        record["drafted"][0]["mood"] = "good"

    data = with_line(2, add)
    assert loads(data).steps[0].drafted[0].extra == {"mood": "good"}
    again = json.loads(dumps(loads(data)).splitlines()[1])
    assert (again["mine"], again["drafted"][0]["mood"]) == ([1], "good")


def set_to(*path: Any, value: Any) -> Callable[[Record], None]:
    def change(record: Record) -> None:
        for key in path[:-1]:
            record = record[key]
        record[path[-1]] = value

    return change


BAD: list[tuple[int, Callable[[Record], Any], str]] = [
    (1, set_to("schema_version", value=2), "schema version 2.*reads up to 1"),
    (1, set_to("schema_version", value="1"), "schema_version must be a whole number"),
    (1, set_to("kind", value="step"), "begins with a header"),
    (1, set_to("config", "gamma", value=17), "gamma must be a whole number from 1 to 16; it is 17"),
    (1, set_to("config", "k", value=True), "k must be a whole number"),
    (1, set_to("config", "mode", value="magic"), "mode must be one of"),
    (1, set_to("config", "overlap_threshold", value=1.5), "overlap_threshold must be a number from 0 to 1"),
    (1, set_to("config", "draft_threshold", value=-1), "draft_threshold must be"),
    (1, set_to("prompt", "token_ids", value=[]), "prompt.token_ids"),
    (1, lambda r: r.pop("versions"), "lacks 'versions'"),
    (2, lambda r: r["drafted"][0].pop("beta"), "lacks 'beta'"),
    (2, set_to("index", value=5), "step index is 5, expected 0"),
    (2, set_to("drafted", 0, "position", value=0), "position is 0, expected"),
    (2, set_to("drafted", 0, "draft_index", value=2), "draft_index"),
    (2, set_to("drafted", 0, "draft_prob", value=0), "draft_prob"),
    (2, set_to("drafted", 0, "target_prob", value=1.5), "target_prob must be a number from 0 to 1"),
    (2, set_to("drafted", 0, "uniform", value=0), "uniform must be above 0"),
    (2, set_to("drafted", 0, "draft_entropy", value="high"), "draft_entropy must be a number"),
    (2, set_to("drafted", 0, "target_entropy", value=None), "target_entropy at position .* must be a number"),
    (2, set_to("drafted", 0, "outcome", value="lucky"), "outcome must be one of"),
    (2, set_to("drafted", 0, "bytes", value="zz"), "bytes must be hexadecimal"),
    (2, set_to("drafted", 0, "draft_top", value=[]), "draft_top must not be empty"),
    (2, set_to("drafted", 0, "draft_top", 1, value=[1, "x"]), "draft_top must be a list of"),
    (2, set_to("drafted", 0, "overlap", value=0.123), "overlap at position"),
    (2, set_to("drafted", 0, "accept_prob", value=0.001), "accept_prob at position"),
    (2, set_to("draft_ms", value=-1), "draft_ms must be a number"),
    (2, set_to("drafted", value={}), "drafted must be a list"),
    (len(LINES), set_to("stop_reason", value="tired"), "stop_reason must be one of"),
]


@pytest.mark.parametrize(("number", "change", "message"), BAD, ids=[message for _, _, message in BAD])
def test_refusals_name_the_line_and_the_field(number: int, change: Callable[[Record], Any], message: str) -> None:
    with pytest.raises(TraceError, match=rf"^line {number}: .*{message}"):
        store.parse(with_line(number, change))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(value: str) -> None:
    text = LINES[1].decode()
    broken = text.replace('"verify_ms":', f'"verify_ms":{value},"old":', 1).encode()
    with pytest.raises(TraceError, match="^line 2: "):
        store.parse(b"\n".join([LINES[0], broken, *LINES[2:]]))


@pytest.mark.parametrize("outcome", ["accepted", "rejected", "gated", "discarded"])
def test_an_outcome_the_rule_does_not_give(outcome: Outcome) -> None:
    for step in TRACE.steps:
        check_step(step, TRACE.header.config, {})
        for i, token in enumerate(step.drafted):
            if token.outcome == outcome:
                continue
            changed = replace(step, drafted=(*step.drafted[:i], replace(token, outcome=outcome), *step.drafted[i + 1 :]))
            with pytest.raises(TraceError, match=f"position {step.drafted[0].position + i}|in its place|source"):
                check_step(changed, TRACE.header.config, {})


def test_a_verdict_in_a_file_is_checked() -> None:
    number, step = next((n, s) for n, s in enumerate(TRACE.steps, start=2) if s.drafted[-1].outcome == "discarded")
    with pytest.raises(TraceError, match=rf"line {number}: outcome at position {step.drafted[-1].position} is 'gated'"):
        store.parse(with_line(number, set_to("drafted", -1, "outcome", value="gated")))


def test_a_forced_verdict_is_only_valid_where_it_is_named() -> None:
    step = next(s for s in TRACE.steps if s.drafted[0].outcome == "rejected")
    forced = replace(step, drafted=(replace(step.drafted[0], outcome="accepted"), *step.drafted[1:]), emitted=None)
    with pytest.raises(TraceError, match="decision rule"):
        check_step(forced, TRACE.header.config, {})
    first = replace(step.drafted[0], outcome="gated")
    assert step.emitted is not None
    gated = replace(step, drafted=(first, *step.drafted[1:]), emitted=replace(step.emitted, source="target"))
    check_step(gated, TRACE.header.config, {first.position: "gated"})
    parent = Parent("0" * 16, step.index, {"k": 5, "draft_threshold": math.inf}, {first.position: "gated"})
    branch = replace(TRACE, header=replace(TRACE.header, parent=parent), steps=(*TRACE.steps[: step.index], gated), footer=None)
    assert store.parse(dumps(branch)) == branch
    assert store.parse(dumps(branch)).header.parent == parent


@pytest.mark.parametrize("junk", [b"", b"\n\n", b"hello", b"[1]\n", b"\xff\xfe\x00", b"null\n", b"{}\n", b'{"kind": 3}\n'])
def test_what_is_no_trace_at_all(junk: bytes) -> None:
    with pytest.raises(TraceError, match="^line 1: "):
        store.parse(junk)


def test_a_broken_line_in_the_middle_is_not_a_cut_off() -> None:
    with pytest.raises(TraceError, match="^line 3: not a JSON object"):
        store.parse(b"\n".join([LINES[0], LINES[1], b'{"kind"', LINES[3]]))


def test_the_fixture_of_every_schema_version_still_opens() -> None:
    fixtures = sorted(DATA.glob("trace_v*.jsonl"))
    assert fixtures, "tests/data must hold a trace of each schema version"
    for path in fixtures:
        trace = store.load(path)
        assert dumps(trace) == path.read_bytes(), f"{path.name} is written back differently"


def test_a_missing_file_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        store.load(tmp_path / "none.jsonl")
    with pytest.raises(TraceError, match="no trace files were found"):
        store.load_all([tmp_path])
    store.save(TRACE, tmp_path / "b.jsonl")
    store.save(TRACE, tmp_path / "a.jsonl")
    assert store.load_all([tmp_path]) == [TRACE, TRACE]


def test_frames() -> None:
    drafted, emitted = drafted_frame([TRACE, TRACE]), emitted_frame(TRACE)
    assert len(drafted) == 2 * sum(len(s.drafted) for s in TRACE.steps)
    assert set(drafted["trace"]) == {0, 1}
    assert tuple(emitted["token_id"]) == TRACE.token_ids
    first = len(TRACE.header.prompt.token_ids)
    assert list(emitted["position"]) == list(range(first, first + len(emitted)))


def test_records_are_values() -> None:
    token = TRACE.steps[0].drafted[0]
    with pytest.raises(AttributeError):
        token.position = 3  # type: ignore[misc]
    assert copy.deepcopy(token) == token
