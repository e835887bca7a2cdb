"""From a name to a folder: local folders as they are, Hugging Face hub repositories through the hub's own cache.

``HF_HUB_OFFLINE``, ``HF_TOKEN`` and ``HF_HOME`` work as everywhere in transformers.
"""

from __future__ import annotations

import io
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from easd_viz.models.errors import ModelError, first_line
from easd_viz.models.progress import OnProgress, Progress

SMALL_FILES = ["*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken"]
"""Config and tokenizer: enough to check a pair."""

UNWANTED = ["*/*", "consolidated*", "*.onnx", "*.gguf"]
"""Other formats of the same weights, and folders beside them."""

BYTES_OF = {"F64": 8, "F32": 4, "I32": 4, "I64": 8, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I8": 1, "U8": 1, "BOOL": 1}
"""Bytes per element of the dtypes in a safetensors header."""


@dataclass(frozen=True)
class Source:
    """Where a model's files lie."""

    id: str
    """The name it goes by in traces: as the user typed it."""
    folder: Path
    """Holds config and tokenizer now, and the weights once ``fetch_weights`` was called."""
    revision: str | None
    """The hub commit; None for a local folder."""
    repository: str | None
    """The hub repository; None for a local folder."""


def find(name: str, on_progress: OnProgress) -> Source:
    """Config and tokenizer of a model, downloaded where needed: a local folder, or a hub id, optionally ``id@revision``."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelError(f"the folder {name} holds no config.json; give a folder as transformers' save_pretrained writes it")
        return Source(name, folder, None, None)
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name:
        raise ModelError(
            f"there is no folder {name}; give an existing folder or a Hugging Face id such as Qwen/Qwen2.5-0.5B-Instruct"
        )
    repository, _, revision = name.partition("@")
    snapshot = _snapshot(repository, revision or None, SMALL_FILES, on_progress)
    if not (snapshot / "config.json").is_file():
        raise ModelError(f"{name} on the Hugging Face hub holds no config.json; it is not a transformers model, choose another")
    return Source(name, snapshot, snapshot.name, repository)


def fetch_weights(source: Source, on_progress: OnProgress) -> None:
    """Download what ``find`` left out; safetensors where there are any, else PyTorch's older format."""
    if source.repository is None:
        return
    wanted = ["*.safetensors", *SMALL_FILES]
    folder = _snapshot(source.repository, source.revision, wanted, on_progress)
    if not list(folder.glob("*.safetensors")):
        _snapshot(source.repository, source.revision, ["*.bin", *SMALL_FILES], on_progress)


def parameter_count(source: Source) -> int | None:
    """How many weights the model has, from safetensors headers or the hub's listing; None where neither is at hand."""
    files = sorted(source.folder.glob("*.safetensors"))
    if source.repository is None or files:
        return sum(_tensor_sizes(file) for file in files) or None
    try:
        from huggingface_hub import HfApi

        listing = HfApi().model_info(source.repository, revision=source.revision, timeout=10).safetensors
    except Exception:  # an estimate is a courtesy: without one the load goes on
        return None
    return listing.total if listing is not None else None


def _tensor_sizes(file: Path) -> int:
    """Elements in a safetensors file, from its header (https://github.com/huggingface/safetensors#format)."""
    with file.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header = json.loads(stream.read(length))
    total = 0
    for name, tensor in header.items():
        if name != "__metadata__":
            start, end = tensor["data_offsets"]
            total += (end - start) // BYTES_OF.get(tensor["dtype"], 2)
    return total


def _snapshot(repository: str, revision: str | None, patterns: list[str], on_progress: OnProgress) -> Path:
    from huggingface_hub import snapshot_download

    with hub_errors(repository):
        path: Any = snapshot_download(
            repository,
            revision=revision,
            allow_patterns=patterns,
            ignore_patterns=UNWANTED,
            tqdm_class=_reporting_bar(repository, on_progress),
        )
    return Path(path)


def _reporting_bar(what: str, on_progress: OnProgress) -> type[Any]:
    """A tqdm class that prints nothing and hands byte counts to the callback."""
    from tqdm import tqdm

    class ReportingBar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.counts_bytes = kwargs.get("unit") == "B" and "Downloading" not in str(kwargs.get("desc"))
            kwargs.pop("name", None)
            super().__init__(*args, **kwargs | {"file": io.StringIO(), "mininterval": 0.2})  # a disabled bar would not count

        def display(self, *args: Any, **kwargs: Any) -> None:
            if self.counts_bytes:
                on_progress(Progress("download", what, int(self.n), int(self.total) if self.total else None))

    return ReportingBar


@contextmanager
def hub_errors(repository: str) -> Iterator[None]:
    """Turn whatever the hub's client raises into one line that says what to do."""
    from huggingface_hub import errors

    try:
        yield
    except ModelError:
        raise
    except errors.GatedRepoError as error:
        raise ModelError(
            f"{repository} is gated: accept its licence on its Hugging Face page, then set HF_TOKEN to a token of your account; "
            "or choose an open model"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ModelError(
            f"{repository} has no such revision; leave out what follows the @, or give a branch, tag or commit"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ModelError(
            f"the Hugging Face hub shows no model {repository}; check the spelling, or set HF_TOKEN if it is private"
        ) from error
    except errors.HFValidationError as error:
        raise ModelError(
            f"{repository!r} is neither a folder nor a Hugging Face id; an id looks like Qwen/Qwen2.5-0.5B-Instruct"
        ) from error
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON")
        why = "HF_HUB_OFFLINE is set" if offline else "the Hugging Face hub can't be reached"
        raise ModelError(
            f"{repository} is not on this machine and {why}; use the demo pair, a local folder, or a network with the hub"
        ) from error
    except Exception as error:  # the client passes on errors of its transport, which has many
        raise ModelError(
            f"{repository} could not be fetched from the Hugging Face hub: {first_line(error)}; try again, or use the demo pair"
        ) from error
