"""From a checked folder to a loaded Model: device, dtype, and drafts that borrow the target's embeddings."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from easd_viz.models.checks import context_length
from easd_viz.models.errors import ModelError, first_line
from easd_viz.models.session import Model, check_rollback
from easd_viz.models.sources import Source
from easd_viz.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

DTYPES = ("float32", "bfloat16", "float16")

EMBEDDING = "model.embed_tokens.weight"
"""Absent from a draft's files: it borrows the target's embedding and head."""

HEAD_IDS = "head_token_ids"
"""Present in a draft with a reduced vocabulary: the ids that its head covers, int32 [rows of the head]."""

OUTSIDE_HEAD = -1e4
"""Logit of the ids that a reduced head leaves out: finite, and exactly 0 after a float32 softmax."""


def choose_device(device: str) -> str:
    """``auto``: ``EASD_VIZ_DEVICE`` where set, else CUDA, MPS or the CPU, whichever there is."""
    import torch

    if device == "auto":
        device = os.environ.get("EASD_VIZ_DEVICE") or "auto"
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind = device.split(":")[0]
    if kind == "cuda" and not torch.cuda.is_available():
        raise ModelError(
            "the device cuda was asked for and PyTorch sees no CUDA GPU; use auto or cpu, or install a CUDA build of PyTorch"
        )
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ModelError("the device mps was asked for and PyTorch sees no Apple GPU; use auto or cpu")
    if kind not in ("cpu", "cuda", "mps"):
        raise ModelError(f"the device must be auto, cpu, cuda or mps; it is {device!r}")
    return device


def choose_dtype(dtype: str, device: str) -> str:
    """``auto``: float32 on a CPU, as 2-byte sums round differently for one token and for five; bf16 on CUDA, float16 on MPS."""
    if dtype == "auto":
        return {"cuda": "bfloat16", "mps": "float16"}.get(device.split(":")[0], "float32")
    if dtype not in DTYPES:
        raise ModelError(f"the dtype must be auto, {', '.join(DTYPES)}; it is {dtype!r}")
    return dtype


def load_model(source: Source, config: Any, *, dtype: str, device: str) -> Model:
    """All weights of a causal language model, on the device."""
    import torch
    from transformers import AutoModelForCausalLM

    try:
        network = AutoModelForCausalLM.from_pretrained(
            source.folder, config=config, dtype=getattr(torch, dtype), local_files_only=True, use_safetensors=None
        )
        network = network.eval().to(device)
    except Exception as error:  # a broken file, a missing shard, no memory: each library raises its own
        raise ModelError(f"the weights of {source.id} can't be loaded: {first_line(error)}; {_advice(error)}") from error
    return checked(Model(network, id=source.id, revision=source.revision, context_length=context_length(config)))


def _advice(error: Exception) -> str:
    if "out of memory" in str(error).lower() or isinstance(error, MemoryError):
        return "close other programs or choose a smaller model"
    return "download them again or choose another model"


def checked(model: Model) -> Model:
    """The model with its fast attention, after a look at its real cache; raises ModelError where that can't be rolled back."""
    from easd_viz.models.attention import use_packed_attention

    use_packed_attention(model.network)
    obstacle = check_rollback(model)
    if obstacle is not None:
        raise ModelError(
            f"the cache of {model.id} can't be rolled back exactly: {obstacle}; choose a model such as Llama or Qwen2.5"
        )
    return model


# ---- drafts without embeddings ---------------------------------------------------------------------------


def borrows_embedding(folder: Path) -> bool:
    """Whether a draft's files leave the token embeddings out, to be taken from the target."""
    from safetensors import safe_open

    files = sorted(folder.glob("*.safetensors"))
    names: set[str] = set()
    for file in files:
        with safe_open(file, framework="pt") as tensors:
            names.update(tensors.keys())
    return bool(files) and "model.norm.weight" in names and EMBEDDING not in names


def content_revision(folder: Path) -> str:
    """A short hash of a folder's weights, as their revision."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:12]


def load_borrowing_draft(source: Source, config: Any, target: Model) -> Model:
    """A Llama draft with the target's own embedding (shared memory) and the target's head, or a reduced one.

    Its files hold layers and final norm; with ``head_token_ids`` the head covers only those ids (the reduced draft vocabulary of
    FR-Spec, arXiv 2502.14856), by the target's rows or by a trained ``lm_head.weight``.
    """
    from safetensors.torch import load_file
    from transformers import LlamaForCausalLM

    embedding = target.network.get_input_embeddings()
    if config.hidden_size != embedding.weight.shape[1]:
        raise ModelError(
            f"the draft {source.id} borrows embeddings {config.hidden_size} wide, and those of {target.id} are "
            f"{embedding.weight.shape[1]} wide; pair it with the target it was made for"
        )
    tensors = {name: t for file in sorted(source.folder.glob("*.safetensors")) for name, t in load_file(file).items()}
    head_ids, head_rows = tensors.pop(HEAD_IDS, None), tensors.pop("lm_head.weight", None)
    config.vocab_size, config.tie_word_embeddings = target.vocab_size, True
    tensors[EMBEDDING] = embedding.weight.detach()
    network, report = LlamaForCausalLM.from_pretrained(
        None, config=config, state_dict=tensors, dtype=target.network.dtype, output_loading_info=True
    )
    wrong = sorted(report["missing_keys"] | report["unexpected_keys"])
    if wrong:
        raise ModelError(f"the weights of the draft {source.id} don't fit its config ({wrong[0]}); restore its folder")
    network = network.eval().to(target.network.device)
    network.set_input_embeddings(embedding)
    network.lm_head = target.network.get_output_embeddings()
    if head_ids is not None:
        network.lm_head = reduced_head(head_ids, head_rows, network.lm_head.weight)
    return checked(Model(network, id=source.id, revision=source.revision, context_length=context_length(config)))


def reduced_head(head_ids: Tensor, head_rows: Tensor | None, full: Tensor) -> Any:
    """An output head over ``head_ids`` [m] only: hidden [..., width] -> logits [..., vocab], ``OUTSIDE_HEAD`` elsewhere.

    ``head_rows``: [m, width] trained rows, or None for the rows of ``full`` [vocab, width].
    """
    import torch

    class ReducedHead(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            ids = head_ids.to(device=full.device, dtype=torch.int64)
            rows = full.detach()[ids] if head_rows is None else head_rows.to(full)
            self.register_buffer("ids", ids)
            self.covered = torch.nn.Linear(rows.shape[1], rows.shape[0], bias=False, device="meta")
            self.covered.weight = torch.nn.Parameter(rows.contiguous(), requires_grad=False)

        def forward(self, hidden: Tensor) -> Tensor:
            logits = hidden.new_full((*hidden.shape[:-1], full.shape[0]), OUTSIDE_HEAD)
            return logits.index_copy_(-1, self.ids, self.covered(hidden))  # type: ignore[arg-type]

    return ReducedHead()


def eos_token_ids(network: Any, tokenizer: Tokenizer) -> frozenset[int]:
    """Every id that ends a text, from the generation config, the config and the tokenizer."""
    found: set[int] = set()
    for value in (
        getattr(network.generation_config, "eos_token_id", None),
        network.config.get_text_config().eos_token_id,
        tokenizer.eos_token_id,
    ):
        found.update([value] if isinstance(value, int) else value or [])
    return frozenset(found)
