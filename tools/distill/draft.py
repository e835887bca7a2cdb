"""The draft: a few layers of the target, its embeddings, and a head over the tokens that matter.

The head is most of a small model's work (49,152 rows of 576 numbers are eight layers' worth). So the draft's head has only the
rows of the ids that the target uses most (the idea of FR-Spec, arXiv 2502.14856); every other id gets the logit
``UNCOVERED``, which softmax turns into exactly 0. Input embeddings cover the whole vocabulary.

A draft folder holds `config.json` (a LlamaConfig), bf16 safetensors shards with an index, and in them only what was trained
(layers, final norm, head rows if those were trained) and `head_token_ids`. Embeddings come from the target at load time.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaModel

UNCOVERED = -1e4
"""Logit of the ids that the head leaves out: finite, and exp(-1e4) is 0 in every dtype."""

INDEX_NAME = "model.safetensors.index.json"
LARGEST_SHARD = 9_500_000
"""Bytes of tensors per file; repositories and hubs like small files."""


class Draft(torch.nn.Module):
    """Trainable body over the target's frozen embeddings; the head is a choice of rows."""

    def __init__(self, config: LlamaConfig, embedding: torch.Tensor, head_ids: torch.Tensor | None, train_head: bool) -> None:
        super().__init__()
        self.config = config
        body = LlamaModel(config)
        body.embed_tokens = torch.nn.Identity()  # embeddings are looked up below, outside the trained weights
        self.body = body
        self.head_ids = head_ids  # [covered] int64, or None for the whole vocabulary
        self.embedding = [embedding.detach()]  # in a list: neither a parameter nor a buffer; [vocab, hidden]
        rows = embedding if head_ids is None else embedding[head_ids]
        self.head = torch.nn.Parameter(rows.detach().float().clone(), requires_grad=train_head)  # [covered, hidden]

    @property
    def covered(self) -> int:
        """How many token ids the head can produce."""
        return self.head.shape[0]

    def choose_ids(self, ids: torch.Tensor | None) -> None:
        """Restricts an untrained head to these ids, ascending [covered], or opens it to all (None)."""
        if self.head.requires_grad:
            raise ValueError("a trained head has rows for its own ids only; leave --vocabulary out")
        self.head_ids = ids
        rows = self.embedding[0] if ids is None else self.embedding[0][ids]
        self.head = torch.nn.Parameter(rows.float().clone(), requires_grad=False)

    def hidden(self, ids: torch.Tensor) -> torch.Tensor:
        """Token ids [rows, length] -> normed last hidden states [rows, length, hidden]. Right padding needs no mask."""
        embedded = self.embedding[0][ids].float()
        hidden: torch.Tensor = self.body(inputs_embeds=embedded, use_cache=False).last_hidden_state
        return hidden

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Hidden states [n, hidden] -> logits over the covered ids [n, covered]."""
        return F.linear(hidden, self.head.to(hidden.dtype))

    def scatter(self, values: torch.Tensor, fill: float) -> torch.Tensor:
        """Values over covered ids [n, covered] -> over the vocabulary [n, vocab]."""
        if self.head_ids is None:
            return values
        full = values.new_full((values.shape[0], self.config.vocab_size), fill)
        return full.index_copy_(1, self.head_ids, values)


def from_target(target: Any, layers: Sequence[int], head_ids: torch.Tensor | None, train_head: bool) -> Draft:
    """A draft whose layers start as copies of the target's ``layers``, float32."""
    config = copy.deepcopy(target.config)
    config.num_hidden_layers = len(layers)
    config.dtype = "bfloat16"
    config.use_cache = True
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[: len(layers)]
    draft = Draft(config, target.model.embed_tokens.weight, head_ids, train_head)
    for ours, theirs in enumerate(layers):
        draft.body.layers[ours].load_state_dict(target.model.layers[theirs].state_dict())
    draft.body.norm.load_state_dict(target.model.norm.state_dict())
    return draft.float()


@torch.no_grad()
def join(draft: Draft, trained: Draft, places: Sequence[int], damp: float) -> None:
    """Puts a trained draft's layers and norm into ``draft`` at ``places``; the other layers speak at ``damp`` of their volume.

    With a small factor the result starts about as good as the trained draft, and the added layers grow into their work.
    """
    for index, layer in enumerate(draft.body.layers):
        if index in places:
            layer.load_state_dict(trained.body.layers[list(places).index(index)].state_dict())
        else:
            layer.self_attn.o_proj.weight.mul_(damp)
            layer.mlp.down_proj.weight.mul_(damp)
    draft.body.norm.load_state_dict(trained.body.norm.state_dict())


def trained_tensors(draft: Draft) -> dict[str, torch.Tensor]:
    """What a draft folder keeps, under transformers' names, bf16 on the CPU."""
    tensors = {f"model.{name}": value for name, value in draft.body.state_dict().items()}
    if draft.head.requires_grad:
        tensors["lm_head.weight"] = draft.head
    tensors = {name: value.detach().to("cpu", torch.bfloat16).contiguous() for name, value in tensors.items()}
    if draft.head_ids is not None:
        tensors["head_token_ids"] = draft.head_ids.to("cpu", torch.int32)
    return tensors


def save(draft: Draft, folder: Path) -> None:
    """Writes a draft folder: the configuration, the shards and their index. Older shards there are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("model*.safetensors*"):
        old.unlink()
    shards: list[dict[str, torch.Tensor]] = [{}]
    for name, tensor in trained_tensors(draft).items():
        if sum(t.nbytes for t in shards[-1].values()) + tensor.nbytes > LARGEST_SHARD and shards[-1]:
            shards.append({})
        shards[-1][name] = tensor
    weight_map: dict[str, str] = {}
    for index, shard in enumerate(shards, start=1):
        file_name = f"model-{index:05d}-of-{len(shards):05d}.safetensors"
        save_file(shard, folder / file_name, metadata={"format": "pt"})
        (folder / file_name).chmod(0o644)
        weight_map |= dict.fromkeys(shard, file_name)
    total = sum(t.nbytes for shard in shards for t in shard.values())
    index_json = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / INDEX_NAME).write_text(json.dumps(index_json, indent=2) + "\n", encoding="utf-8")
    draft.config.architectures = ["LlamaForCausalLM"]
    settings = draft.config.to_diff_dict()
    settings.pop("_name_or_path", None)
    settings.pop("_model_name_or_path", None)
    (folder / "config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def load(folder: Path, embedding: torch.Tensor) -> Draft:
    """Reads a draft folder; the embeddings are the target's, [vocab, hidden]."""
    config = LlamaConfig.from_pretrained(folder)
    tensors: dict[str, torch.Tensor] = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(path)
    ids = tensors.pop("head_token_ids", None)
    head = tensors.pop("lm_head.weight", None)
    draft = Draft(config, embedding, None if ids is None else ids.long().to(embedding.device), head is not None)
    draft.body.load_state_dict({name.removeprefix("model."): value for name, value in tensors.items()})
    if head is not None:
        draft.head.data.copy_(head)
    return draft.float().to(embedding.device)
