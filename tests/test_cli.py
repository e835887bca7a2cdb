"""The command line: what it writes, what it prints, how it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
from synthetic import make_trace

from easd_viz import store
from easd_viz.__main__ import main
from easd_viz.models import PairSpec
from easd_viz.record import encode_prompt, record
from easd_viz.trace import Config, dumps


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> PairSpec:
    return tiny.make_pair(tmp_path_factory.mktemp("pair"), "llama", noise=0.05)


def call(*argv: str | Path) -> int:
    """The exit code, whether it is returned or raised."""
    try:
        return main([str(a) for a in argv])
    except SystemExit as error:
        return int(error.code or 0)


def test_one_prompt_is_one_file(spec: PairSpec, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "run.jsonl"
    sampling = "--mode easd --gamma 3 --temperature 1.0 --top-k 40 --top-p 0.95 --max-new-tokens 12 --seed 9".split()
    gate = "--draft-threshold 0.5 --target-threshold inf --overlap 0.2 -k 7 --resample exclude".split()
    where = ("--pair", spec.id, "--dtype", "float32", "--device", "cpu", "--raw", "--out", out)
    assert call("trace", "--prompt", "the fox", *sampling, *gate, *where) == 0
    trace = store.load(out)
    expected = Config("easd", 3, 1.0, 40, 0.95, 7, 0.5, float("inf"), 0.2, "exclude", 12, 9)
    assert trace.header.config == expected
    assert not trace.header.prompt.chat_template
    assert not trace.incomplete
    assert "running" in capsys.readouterr().err, "no progress bar was shown"


def test_equals_a_run_from_python(spec: PairSpec, tmp_path: Path) -> None:
    from easd_viz.models import load_pair

    out = tmp_path / "run.jsonl"
    assert (
        call("trace", "--prompt", "the fox", "--pair", spec.id, "--max-new-tokens", "15", "--dtype", "float32", "--out", out) == 0
    )
    pair = load_pair(spec, dtype="float32")
    *_, trace = record(pair, encode_prompt(pair, "the fox"), Config(max_new_tokens=15))
    assert [s.drafted for s in store.load(out).steps] == [s.drafted for s in trace.steps]


@pytest.mark.parametrize("mode", ["easd", "sd", "target", "draft"])
def test_several_prompts_are_a_folder(spec: PairSpec, mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "the fox", "id": 1}\n\n{"prompt": "a dog"}\n')
    out = tmp_path / "out"
    assert call("trace", "--prompts", prompts, "--pair", spec.id, "--mode", mode, "--max-new-tokens", "6", "--out", out) == 0
    assert [t.header.prompt.text for t in store.load_all([out])] == ["the fox", "a dog"]
    for file in sorted(out.iterdir()):
        assert call("check", file) == 0
        assert call("show", file) == 0
    assert "acceptance rate" in capsys.readouterr().out


def test_show_json_is_flat_and_has_every_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    store.save(make_trace(seed=1, steps=10, gamma=4), path)
    assert call("show", path, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    names = {"acceptance_rate", "expected_acceptance", "conditional_acceptance_1", "draft_utilisation", "block_efficiency"}
    assert names | {"gate_rate", "expected_speed_up", "throughput", "draft_share", "verify_share", "record_share"} <= set(found)
    assert not any(isinstance(value, (dict, list)) for value in found.values())


def test_a_cut_off_trace_is_shown_and_named_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(dumps(make_trace(seed=1, steps=4, gamma=4))[:-300])
    assert call("check", path) == 0
    assert "cut off" in capsys.readouterr().out
    assert call("show", path) == 0
    assert "incomplete" in capsys.readouterr().out


BAD = (
    (("trace", "--out", "o.jsonl"), "one of the arguments --prompt --prompts is required"),
    (("trace", "--prompt", "x"), "--out"),
    (("trace", "--prompt", "x", "--out", "o.jsonl", "--gamma", "99"), "gamma must be a whole number from 1 to 16; it is 99"),
    (("trace", "--prompt", "x", "--out", "o.jsonl", "--temperature", "nan"), "temperature must be"),
    (("trace", "--prompt", "x", "--out", "o.jsonl", "--draft-threshold", "-1"), "draft_threshold must be"),
    (("trace", "--prompt", "x", "--out", "o.jsonl", "--overlap", "1.5"), "overlap_threshold must be"),
    (("trace", "--prompt", "x", "--out", "o.jsonl", "--pair", "only-one"), "only-one"),
    (("trace", "--prompt", "x", "--out", "o.jsonl", "--pair", "/no/such,/folder/here"), "/"),
    (("trace", "--prompt", "x", "--out", "."), "is a folder"),
    (("trace", "--prompts", "none.jsonl", "--out", "o"), "none.jsonl"),
    (("trace", "--prompts", "bad.jsonl", "--out", "o"), "line 1 must be an object"),
    (("show", "none.jsonl"), "cannot be read"),
    (("check", "bad.jsonl"), "line 1"),
    (("fly",), "invalid choice"),
)


@pytest.mark.parametrize(("argv", "message"), BAD, ids=[" ".join(argv) for argv, _ in BAD])
def test_bad_input_is_one_line_and_exit_2(
    argv: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.jsonl").write_text('{"question": "no prompt here"}\n')
    assert call(*argv) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1, "more than one line"
    assert "Traceback" not in err


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    out = subprocess.run([sys.executable, "-m", "easd_viz", "show", "nothing"], capture_output=True, text=True, check=False)
    assert (out.returncode, out.stdout) == (2, "")
    assert out.stderr.count("\n") == 1


def test_an_interrupted_run_keeps_what_it_has(spec: PairSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from easd_viz import record as module

    real = module.record

    def interrupted(*args: object, **kwargs: object):  # type: ignore[no-untyped-def]
        for count, trace in enumerate(real(*args, **kwargs)):  # type: ignore[arg-type]
            if count == 3:
                raise KeyboardInterrupt
            yield trace

    monkeypatch.setattr(module, "record", interrupted)
    out = tmp_path / "run.jsonl"
    assert call("trace", "--prompt", "the fox", "--pair", spec.id, "--out", out) == 130
    trace = store.load(out)
    assert trace.footer is not None
    assert (trace.footer.stop_reason, len(trace.steps)) == ("stopped", 2)
