"""The threshold lab on the command line: sweep, calibrate, replay, branch; what they print and how they refuse."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from synthetic import make_trace

from easd_viz import store
from easd_viz.__main__ import main
from easd_viz.calibrate import by_percentile, sweep
from easd_viz.models import PairSpec, load_pair
from easd_viz.record import encode_prompt, record
from easd_viz.replay import arrays, gate_with, rejudge
from easd_viz.trace import Config, Trace


def call(*argv: str | Path) -> int:
    """The exit code, whether it is returned or raised."""
    try:
        return main([str(a) for a in argv])
    except SystemExit as error:
        return int(error.code or 0)


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    return [make_trace(seed, 10, 4, Config(seed=seed)) for seed in range(3)]


@pytest.fixture(scope="module")
def folder(traces: list[Trace], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces")
    for number, trace in enumerate(traces):
        store.save(trace, path / f"{number}.jsonl")
    return path


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> PairSpec:
    return tiny.make_pair(tmp_path_factory.mktemp("pair"), "llama", noise=0.05)


def test_a_folder_is_swept_as_one_set(folder: Path, traces: list[Trace], tmp_path: Path) -> None:
    out = tmp_path / "new" / "grid.csv"
    grid = ("--draft-threshold", "0:4:5", "--target-threshold", "1,2.5,inf", "--overlap", "0.1,0.3", "-k", "5:6")
    assert call("sweep", folder, *grid, "--out", out) == 0
    rows = list(csv.DictReader(out.open()))
    assert len(rows) == 5 * 3 * 2 * 2
    for row in rows[::7]:
        draft, target, overlap = (float(row[n]) for n in ("draft_threshold", "target_threshold", "overlap_threshold"))
        cell = sweep(arrays(traces), [draft], [target], k=int(row["k"]), overlap_threshold=overlap)
        assert int(row["gated"]) == cell.gated[0, 0]
        assert int(row["accepted_by_sd"]) == cell.accepted_by_sd
        assert float(row["gate_rate"]) == cell.rate[0, 0]
        assert float(row["gate_rate_low"]) <= float(row["gate_rate"]) <= float(row["gate_rate_high"])
    assert all(float(row["gate_rate"]) == 0 for row in rows if row["target_threshold"] == "inf")


def test_calibration_prints_thresholds_with_their_n(
    folder: Path, traces: list[Trace], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("calibrate", folder, "--percentile", "80", "--overlap", "0.2", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    expected = by_percentile(arrays(traces), 80, k=10, overlap_threshold=0.2)
    assert (found["draft_threshold"], found["target_threshold"]) == (expected.draft_threshold, expected.target_threshold)
    assert (found["tokens"], found["traces"]) == (len(arrays(traces)), 3)
    assert call("calibrate", folder, "--gate-rate", "0.1", "--overlap", "0.1") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("--draft-threshold ")
    assert "95 % over traces" in printed


def test_replay_prints_the_boundary_and_the_changes(
    folder: Path, traces: list[Trace], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("replay", folder / "0.jsonl", "--draft-threshold", "1", "--overlap", "0.1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    expected = rejudge(traces[0], gate_with(traces[0].header.config, draft_threshold=1.0, overlap_threshold=0.1))
    assert expected.boundary is not None
    assert found["boundary"]["position"] == expected.boundary.position
    assert [c["position"] for c in found["changes"]] == [c.position for c in expected.changes]
    assert call("replay", folder / "0.jsonl", "--draft-threshold", "inf", "--json") == 0
    assert json.loads(capsys.readouterr().out)["gate"]["draft_threshold"] == "inf"
    assert call("replay", folder / "0.jsonl") == 0
    assert "no verdict changes" in capsys.readouterr().out


def test_a_branch_names_its_parent_and_goes_on_as_it_would_have(spec: PairSpec, tmp_path: Path) -> None:
    pair = load_pair(spec, dtype="float32", device="cpu")
    config = Config(max_new_tokens=30, temperature=1.0, draft_threshold=0.5, target_threshold=0.5, overlap_threshold=0.0)
    *_, parent = record(pair, encode_prompt(pair, "the fox"), config)
    store.save(parent, tmp_path / "parent.jsonl")
    start = ("branch", tmp_path / "parent.jsonl", "--device", "cpu")
    assert call(*start, "--from", "2", "--out", tmp_path / "same.jsonl") == 0
    same = store.load(tmp_path / "same.jsonl")
    assert same.token_ids == parent.token_ids, "a branch with unchanged knobs is its parent"
    assert same.header.parent is not None
    assert (same.header.parent.trace, same.header.parent.step, same.header.parent.change) == (parent.fingerprint, 2, {})
    assert call(*start, "--from", "1", "--draft-threshold", "inf", "--out", tmp_path / "closed.jsonl") == 0
    closed = store.load(tmp_path / "closed.jsonl")
    *_, again = record(pair, encode_prompt(pair, "the fox"), replace(config, draft_threshold=math.inf), resume=parent.steps[:1])
    assert closed.token_ids == again.token_ids
    assert closed.header.parent is not None
    assert closed.header.parent.change == {"draft_threshold": math.inf}
    token = parent.steps[3].drafted[0]
    verdict = "rejected" if token.outcome == "accepted" else "accepted"
    assert call(*start, "--from", "3", "--force", f"{token.position}={verdict}", "--out", tmp_path / "forced.jsonl") == 0
    forced = store.load(tmp_path / "forced.jsonl")
    assert forced.steps[3].drafted[0].outcome == verdict
    assert forced.forced == {token.position: verdict}


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["sweep", "{}", "--draft-threshold", "nan", "--target-threshold", "1", "--out", "x.csv"], "draft threshold must be"),
        (["sweep", "{}", "--draft-threshold", "0:1", "--target-threshold", "1", "--out", "x.csv"], "neither LO:HI:N"),
        (["sweep", "{}", "--draft-threshold", "0:9:900", "--target-threshold", "0:9:900", "--out", "x.csv"], "at most 250000"),
        (
            ["sweep", "{}", "--draft-threshold", "1", "--target-threshold", "1", "-k", "21", "--out", "x.csv"],
            "largest possible k is 20",
        ),
        (
            ["sweep", "{}", "--draft-threshold", "1", "--target-threshold", "1", "-k", "5:2", "--out", "x.csv"],
            "neither LO:HI nor",
        ),
        (["sweep", "nowhere.jsonl", "--draft-threshold", "1", "--target-threshold", "1", "--out", "x.csv"], "cannot be read"),
        (["calibrate", "{}", "--percentile", "101"], "from 0 to 100"),
        (["calibrate", "{}", "--percentile", "nan"], "from 0 to 100"),
        (["calibrate", "{}", "--gate-rate", "-0.1"], "from 0 to 1"),
        (["calibrate", "{}"], "required"),
        (["calibrate", "{}", "--gate-rate", "1", "--overlap", "1"], "it is at most"),
        (["replay", "{}/0.jsonl", "--draft-threshold", "-1"], "draft_threshold must be"),
        (["replay", "{}/0.jsonl", "-k", "21"], "largest possible k is 20"),
        (["replay", "{}/0.jsonl", "--force", "6=lost"], "POSITION=VERDICT"),
        (["branch", "{}/0.jsonl", "--from", "99", "--out", "x.jsonl"], "step 99 is not in the trace"),
        (["branch", "{}/0.jsonl", "--from", "5", "--force", "5=accepted", "--out", "x.jsonl"], "lies before step 5"),
        (["branch", "{}/0.jsonl", "--from", "0", "--out", "{}"], "is a folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    argv: list[str], says: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*(a.format(folder) for a in argv)) == 2
    printed = capsys.readouterr()
    assert says in printed.err, printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert printed.out == ""


def test_mixed_pairs_and_undecided_runs_are_refused_by_name(
    traces: list[Trace], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = traces[1].header
    assert header.draft_model is not None
    other = replace(traces[1], header=replace(header, draft_model=replace(header.draft_model, id="other-draft")))
    store.save(traces[0], tmp_path / "a.jsonl")
    store.save(other, tmp_path / "b.jsonl")
    assert call("calibrate", tmp_path, "--percentile", "50") == 2
    assert "other-draft → synthetic-target; synthetic-draft → synthetic-target" in capsys.readouterr().err
    store.save(make_trace(0, 3, 4, Config(mode="draft")), tmp_path / "draft" / "a.jsonl")
    assert call("calibrate", tmp_path / "draft", "--percentile", "50") == 2
    assert "no decided token" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert call("calibrate", tmp_path / "empty", "--percentile", "50") == 2
    assert "no trace files" in capsys.readouterr().err
