"""What a pair must satisfy before any weight is loaded: one token-id space, decoder-only, a cache to roll back, enough memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from easd_viz.models.errors import ModelError, first_line
from easd_viz.models.sources import Source
from easd_viz.models.tokenizer import Tokenizer


def read_config(source: Source) -> Any:
    """The transformers config of a model, or ModelError."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(source.folder, local_files_only=True)
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise ModelError(
                f"{source.id} needs program code from its repository, which is never run here; "
                "choose a model built into transformers"
            ) from error
        raise ModelError(f"the config of {source.id} can't be read: {first_line(error)}; choose another model") from error


def read_tokenizer(source: Source) -> Tokenizer:
    """The tokenizer of a model, or ModelError."""
    from transformers import AutoTokenizer

    try:
        return Tokenizer(AutoTokenizer.from_pretrained(source.folder, local_files_only=True))
    except Exception as error:
        raise ModelError(f"the tokenizer of {source.id} can't be read: {first_line(error)}; choose another model") from error


def context_length(config: Any) -> int:
    """Positions the model was built for; 2048 where its config doesn't say."""
    text_config = config.get_text_config()
    for name in ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len"):
        value = getattr(text_config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return 2048


def check_architecture(source: Source, config: Any) -> None:
    """Raise ModelError unless this is a decoder-only language model with a cache that can be rolled back exactly."""
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING

    from easd_viz.models.cache import rollback_obstacle

    if config.is_encoder_decoder:
        raise ModelError(
            f"{source.id} is an encoder-decoder model ({config.model_type}); a pair needs decoder-only ones such as Llama or Qwen"
        )
    named = config.architectures or []
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING or (named and not any("CausalLM" in n or "LMHead" in n for n in named)):
        kind = ", ".join(named) or config.model_type
        raise ModelError(f"{source.id} is not a decoder-only language model ({kind}); choose one, such as Llama or Qwen")
    obstacle = rollback_obstacle(config, context_length(config))
    if obstacle is not None:
        raise ModelError(
            f"the cache of {source.id} ({config.model_type}) can't be rolled back exactly, which rejected tokens require: "
            f"{obstacle}; "
            "choose a model with plain full attention, such as Llama or Qwen2.5"
        )


def check_vocabulary(draft: Tokenizer, target: Tokenizer, rows: int, draft_id: str, target_id: str) -> None:
    """Raise ModelError unless both tokenizers map every id below ``rows`` to the same string. Names the first that differs."""
    if draft is target:
        return
    for i in range(rows):
        ours, theirs = draft.pieces.get(i), target.pieces.get(i)
        if ours != theirs:
            raise ModelError(
                f"{draft_id} and {target_id} don't share one tokenizer: id {i} is {_shown(ours)} in the draft and "
                f"{_shown(theirs)} in the target; choose two models of one family, such as Qwen2.5 0.5B and 1.5B"
            )


def _shown(piece: str | None) -> str:
    return "no token" if piece is None else repr(piece)


def check_memory(source: Source, parameters: int | None, bytes_each: int, device: str) -> None:
    """Raise ModelError where the weights alone exceed the memory that is free on the device."""
    free = free_memory(device)
    if parameters is None or free is None:
        return
    needed = parameters * bytes_each
    if needed > free:
        raise ModelError(
            f"{source.id} needs {needed / 1e9:.1f} GB for its weights and {free / 1e9:.1f} GB are free on the {device}; "
            "close other programs, choose a smaller model, or a 2-byte dtype (bfloat16)"
        )


def free_memory(device: str) -> int | None:
    """Bytes that can be allocated on a device now; None where that can't be told."""
    if device == "cuda":
        import torch

        try:
            return torch.cuda.mem_get_info()[0]
        except Exception:  # ZeroGPU's stand-in for CUDA at module level can't say
            return None
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            return None
    return min(free, _container_memory() or free)


def _container_memory() -> int | None:
    """Bytes left under this container's own limit (cgroup v2), or None where it has none."""
    root = Path("/sys/fs/cgroup")
    try:
        limit, used = (root / "memory.max").read_text().strip(), int((root / "memory.current").read_text())
        cached = next(
            int(s.split()[1]) for s in (root / "memory.stat").read_text().splitlines() if s.startswith("inactive_file ")
        )
    except (OSError, ValueError, StopIteration):
        return None
    return None if limit == "max" else max(0, int(limit) - used + cached)
