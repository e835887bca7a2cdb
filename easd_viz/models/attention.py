"""Attention for a few new tokens over a long cache, for models with grouped key/value heads; imports torch and transformers.

transformers' ``sdpa`` copies every key and value once per query head of its group as soon as there is a mask, that is whenever
more than one token follows a cache: the target's verifying pass. Here the query heads of a group become rows of one head
instead, and nothing is copied. Same kernel, same numbers; measured for 5 tokens, 9 heads in 3 groups, on one CPU core, per
layer: 111 → 48 µs behind 200 tokens, 750 → 195 µs behind 1,000.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "easd_viz_sdpa"


def packed_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """transformers' attention interface: query [batch, heads, n, head_dim], key and value [batch, kv_heads, length, head_dim].

    Returns [batch, n, heads, head_dim] and no weights.
    """
    batch, heads, n, width = query.shape
    groups = heads // key.shape[1]
    special = any(options.get(name) is not None for name in ("position_bias", "softcap", "s_aux"))
    if groups == 1 or attention_mask is None or attention_mask.shape[1] != 1 or special:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)  # type: ignore[no-any-return]
    rows = query.reshape(batch, heads // groups, groups * n, width)
    mask = attention_mask.repeat(1, 1, groups, 1)  # [batch, 1, groups * n, length]
    scale = options.get("scaling")
    output = functional.scaled_dot_product_attention(rows, key, value, attn_mask=mask, scale=scale)
    return output.reshape(batch, heads, n, value.shape[-1]).transpose(1, 2).contiguous(), None


def additive_mask(*args: Any, dtype: torch.dtype = torch.float32, **options: Any) -> Tensor | None:
    """``sdpa``'s mask as 0 and -inf, made once per forward rather than in every layer; None where none is needed."""
    mask: Tensor | None = sdpa_mask(*args, dtype=dtype, **options)
    if mask is None:
        return None
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, float("-inf"))


def use_packed_attention(network: Any) -> None:
    """Switch a loaded model that runs ``sdpa`` to the packed form; others stay as they are."""
    if network.config._attn_implementation == "sdpa":
        AttentionInterface.register(NAME, packed_attention)
        AttentionMaskInterface.register(NAME, additive_mask)
        network.set_attn_implementation(NAME)
