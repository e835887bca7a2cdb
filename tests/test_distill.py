"""The distillation script on a tiny model: it learns, and a run that was killed ends exactly where an undisturbed one does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny import make_config, make_model, make_tokenizer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from distill import attend, card, data, draft, parallel, sampler  # noqa: E402
from distill import train as training  # noqa: E402
from distill_draft import load_target  # noqa: E402

SETTINGS: dict[str, Any] = {
    "layers": (0, 2), "vocabulary": 200, "tokens": 256, "rate": 3e-3, "warmup": 5, "steps": 60, "held_out_every": 8,
    "average": 0.9,
}  # fmt: skip
SAVE_STEPS = 7
POSITIONS = 2500

HELPER = """
import os, signal, sys
sys.path[:0] = [{tests!r}, {tools!r}]
import test_distill as here
from pathlib import Path
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
here.torch.set_num_threads(1)
"""


class StoppedError(Exception):
    """Raised in the middle of a training run."""


def in_a_process(code: str) -> int:
    """Runs Python code with this module as ``here`` and ``die`` (a real SIGKILL) at hand; the exit status."""
    head = HELPER.format(tests=str(ROOT / "tests"), tools=str(ROOT / "tools"))
    return subprocess.run([sys.executable, "-c", head + code], cwd=ROOT, capture_output=True, check=False).returncode


def generate(target: Path, run: Path, on_tokens: Callable[[int], None] | None = None) -> None:
    model, tokenizer = load_target(str(target))
    data.generate(run, model, tokenizer, [], positions=POSITIONS, slots=8, conversations=16, on_tokens=on_tokens)


def train(target: Path, run: Path, out: Path, after_step: Callable[[int], None] = lambda step: None, muon: bool = False) -> None:
    model, tokenizer = load_target(str(target))
    settings = training.Settings(**SETTINGS, muon=muon)
    always = [tokenizer.eos_token_id]
    training.train(run, out, model, settings, always, save_steps=SAVE_STEPS, log_seconds=0.0, after_step=after_step)


def train_until(target: Path, run: Path, out: Path, last: int, muon: bool = False) -> None:
    """Trains until an exception after step ``last``."""

    def stop(step: int) -> None:
        if step == last:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(target, run, out, stop, muon)
    assert not (out / "draft").exists(), "the stopped run had already finished: nothing is tested"


def events(out: Path, kind: str) -> list[dict]:
    lines = (out / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [e for e in map(json.loads, lines) if e["event"] == kind]


def weights(out: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}
    for path in sorted((out / "draft").glob("*.safetensors")):
        found |= load_file(path)
    return found


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Sums come out alike in this process and in those that the tests start."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("distill") / "target"
    tokenizer = make_tokenizer()
    config = make_config("llama", len(tokenizer))
    config.num_hidden_layers, config.tie_word_embeddings = 3, True
    make_model(config, seed=3).to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def run(target: Path) -> Path:
    folder = target.parent / "run"
    generate(target, folder)
    return folder


@pytest.fixture(scope="module")
def whole(target: Path, run: Path) -> Path:
    out = run / "whole"
    train(target, run, out)
    return out


def test_shards_are_the_same_after_a_kill(target: Path, run: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    code = f"""
made = []
here.generate(Path({str(target)!r}), Path({str(again)!r}), lambda count: made.append(count) or (sum(made) > 2000 and die()))
"""
    assert in_a_process(code) == -signal.SIGKILL, "the generating process was not killed"
    shards = sorted((run / "shards").glob("*.safetensors"))
    before = sorted((again / "shards").glob("*.safetensors"))
    assert 0 < len(before) < len(shards), f"killed after {len(before)} of {len(shards)} shards: nothing is tested"
    generate(target, again)
    for shard in shards:
        ours = load_file(again / "shards" / shard.name)
        assert same(ours, load_file(shard)), f"{shard.name} differs between a killed and an undisturbed run"


def test_loss_falls(whole: Path) -> None:
    progress = events(whole, "progress")
    first, last = progress[:5], progress[20:25]  # before the loss begins to change its kind
    assert sum(e["loss"] for e in last) < 0.97 * sum(e["loss"] for e in first), "the loss did not fall"
    overlaps = [e["overlap"] for e in progress]
    assert sum(overlaps[-5:]) > sum(overlaps[:5]), "the overlap with the target did not rise"


def test_a_killed_run_ends_in_the_same_weights(target: Path, run: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    code = f"""
here.train(Path({str(target)!r}), Path({str(run)!r}), Path({str(out)!r}), lambda step: step == 31 and die())
"""
    assert in_a_process(code) == -signal.SIGKILL, "the training process was not killed"
    assert not (out / "draft").exists(), "the killed run had already finished: nothing is tested"
    train(target, run, out)
    assert events(out, "start")[-1]["step"] == 28, "it did not go on from its last checkpoint"
    assert same(weights(out), weights(whole)), "weights after a kill differ from an undisturbed run's"


@pytest.mark.parametrize("stop", [3, 42, 59])
def test_a_stopped_run_ends_in_the_same_weights(target: Path, run: Path, whole: Path, tmp_path: Path, stop: int) -> None:
    out = tmp_path / "stopped"
    train_until(target, run, out, stop)
    train(target, run, out)
    checkpoint = (stop - 1) // SAVE_STEPS * SAVE_STEPS if stop % SAVE_STEPS else stop
    assert events(out, "start")[-1]["step"] == checkpoint, "it did not go on from its last checkpoint"
    assert same(weights(out), weights(whole)), f"weights after a stop at step {stop} differ from an undisturbed run's"


def test_muon_resumes_too(target: Path, run: Path, whole: Path, tmp_path: Path) -> None:
    undisturbed, stopped = tmp_path / "undisturbed", tmp_path / "stopped"
    train(target, run, undisturbed, muon=True)
    train_until(target, run, stopped, 31, muon=True)
    train(target, run, stopped, muon=True)
    assert same(weights(stopped), weights(undisturbed)), "weights after a stop differ from an undisturbed run's under Muon"
    assert not same(weights(undisturbed), weights(whole)), "Muon made the same weights as AdamW: it was not used"
    progress = events(undisturbed, "progress")
    assert progress[24]["loss"] < 0.97 * progress[0]["loss"], "the loss did not fall under Muon"


@pytest.mark.parametrize("forgotten", ["moments", "place"])
def test_a_resume_that_forgets_is_noticed(target: Path, run: Path, whole: Path, tmp_path: Path, forgotten: str) -> None:
    """Negative control: were a part of the state lost, the comparison above would see it."""
    out = tmp_path / "forgets"
    train_until(target, run, out, 31)
    state = torch.load(out / "state.pt", weights_only=True)
    if forgotten == "moments":
        for moments in state["optimizers"][0]["state"].values():
            moments["exp_avg"].zero_()
    else:
        state["step"] -= 1
    torch.save(state, out / "state.pt")
    train(target, run, out)
    assert not same(weights(out), weights(whole)), f"a resume that lost its {forgotten} went unnoticed: the comparison is blind"


def test_other_settings_are_refused(target: Path, run: Path, whole: Path) -> None:
    model, _ = load_target(str(target))
    with pytest.raises(SystemExit, match="other settings"):
        training.train(run, whole, model, training.Settings(**SETTINGS | {"steps": 9}))


def test_two_processes_train_one_draft(target: Path, run: Path, whole: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools" / "distill_draft.py"), "train", "--target", str(target), "--run", str(run)]
    command += ["--out", str(tmp_path), "--layers", "0,2", "--vocabulary", "200", "--tokens", "128", "--warmup", "2"]
    done = subprocess.run([*command, "--steps", "12", "--workers", "2"], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, f"training in two processes failed:\n{done.stderr.decode()[-1500:]}"
    assert events(tmp_path, "done")[-1]["step"] == 12, "it did not reach its last step"
    assert weights(tmp_path).keys() == weights(whole).keys(), "two processes write other tensors than one"


def test_gradients_of_a_team_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a stand-in for the other process, whose gradients are twice this one's."""
    parameters = [torch.nn.Parameter(torch.zeros(2, 3)), torch.nn.Parameter(torch.zeros(4))]
    for number, p in enumerate(parameters):
        p.grad = torch.full_like(p, number + 1.0)
    monkeypatch.setattr(parallel.dist, "all_reduce", lambda flat: flat.mul_(3))
    parallel.Team(0, 2).add_gradients(parameters)
    assert [p.grad.unique().tolist() for p in parameters] == [[3.0], [6.0]], "each gradient must be the sum over the team"


def test_attention_in_c_is_pytorchs(monkeypatch: pytest.MonkeyPatch, target: Path) -> None:
    """The sampler's two ways to attend, over a cache of random numbers and rows of different lengths."""
    lean = sampler.LeanLlama(load_target(str(target))[0].to(torch.bfloat16), slots=9, max_len=50)
    if attend.compiled(lean.head_dim, lean.heads // lean.kv_heads) is None:
        pytest.skip("no C++ compiler here: the sampler keeps to PyTorch's attention")
    generator = torch.Generator().manual_seed(5)
    keys = torch.randn(lean.keys.shape[1:], generator=generator).to(torch.bfloat16)
    values = torch.randn(lean.keys.shape[1:], generator=generator).to(torch.bfloat16)
    q = torch.randn(9, lean.heads, lean.head_dim, generator=generator).to(torch.bfloat16)
    positions = torch.tensor([0, 49, 7, 16, 15, 31, 32, 1, 48])
    in_c = lean._attention(positions)(q, keys, values).reshape(9, -1).float()
    monkeypatch.setattr(attend, "compiled", lambda head_dim, group: None)
    by_pytorch = lean._attention(positions)(q, keys, values).reshape(9, -1).float()
    torch.testing.assert_close(in_c, by_pytorch, atol=0.02, rtol=0.02)
    assert (in_c[0] - values[0, :, 0].repeat_interleave(lean.heads // lean.kv_heads, dim=0).flatten().float()).abs().max() == 0, (
        "a row of one position must get that position's values"
    )
    assert torch.tensor([1e-310], dtype=torch.float64).mul(1.0).item() > 0, "loading the kernel took subnormal numbers away"


def test_a_compiler_that_fails_leaves_pytorchs_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attend, "SOURCE", "no program")
    if attend.shutil.which("c++") is None:
        pytest.skip("no C++ compiler here")
    with pytest.warns(UserWarning, match="PyTorch's is used"):
        assert attend.compiled.__wrapped__(16, 2) is None


def test_draft_folder_loads_as_written(whole: Path, target: Path) -> None:
    embedding = load_target(str(target))[0].model.embed_tokens.weight
    model = draft.load(whole / "draft", embedding)
    files = list((whole / "draft").glob("*.safetensors"))
    index = json.loads((whole / "draft" / draft.INDEX_NAME).read_text(encoding="utf-8"))
    assert set(index["weight_map"].values()) == {f.name for f in files}, "the index names other files than there are"
    assert model.covered == 200, "the head covers another number of ids than was asked for"
    hidden = model.hidden(torch.arange(10)[None])[0]
    full = model.scatter(model.logits(hidden), draft.UNCOVERED).softmax(dim=-1)  # [10, vocab]
    outside = torch.ones(full.shape[1], dtype=torch.bool)
    outside[model.head_ids] = False
    assert full[:, outside].abs().max() == 0, "an id outside the reduced vocabulary has a probability above 0"


def test_a_card_keeps_how_its_start_was_made(run: Path, whole: Path, tmp_path: Path) -> None:
    """Two exports, the second over the first: each draft's own text and training come first, the earlier one's below."""
    facts = {"target": "Tiny", "layers": 2, "trained": 0.1, "covered": 200, "extra": "sums", "head_rows": ""}
    shipped = tmp_path / "README.md"
    card.write(tmp_path, run, [whole], [], None, facts)
    first = shipped.read_text(encoding="utf-8")
    assert card.EARLIER not in first
    card.write(tmp_path, run, [whole], [], None, {**facts, "extra": "riddles"}, shipped)
    card.write(tmp_path, run, [whole], [], None, {**facts, "extra": "songs"}, shipped)
    text = shipped.read_text(encoding="utf-8")
    assert text.count(f"## {card.EARLIER}\n") == 1
    order = [text.index(f"`extra` are {extra}.") for extra in ("songs", "riddles", "sums")]
    assert order == sorted(order), "the youngest draft is told of first"
    assert text.count("Stage 1: ") == 3
    assert text.index(f"## {card.EARLIER}") > text.index("Stage 1: "), "its own training stands above the earlier one's"
