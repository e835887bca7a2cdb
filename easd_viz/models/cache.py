"""A KV cache that appends and rolls back without copying; imports torch and transformers, so import it late.

transformers' own ``DynamicLayer`` concatenates the whole cache at every forward. Here each layer writes into a buffer that
doubles when full and hands out views of it; a rollback only lowers the length. The models see the public ``Cache`` interface.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import Cache, DummyLayer, DynamicLayer, LinearAttentionCacheLayerMixin

FIRST_CAPACITY = 256
"""Tokens a fresh buffer has room for."""


class BufferLayer(DynamicLayer):  # type: ignore[misc]  # transformers is untyped here
    """One attention layer's keys and values, each [1, heads, capacity, head_dim], of which ``length`` tokens are filled."""

    keys: Any
    values: Any

    def __init__(self) -> None:
        super().__init__()
        self.length = 0

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append [1, heads, n, head_dim] and return views of everything, [1, heads, length + n, head_dim]."""
        end = self.length + key_states.shape[-2]
        if not self.is_initialized or end > self.keys.shape[-2]:
            self._grow(key_states, value_states, end)
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def _grow(self, key_states: Tensor, value_states: Tensor, needed: int) -> None:
        capacity = FIRST_CAPACITY
        while capacity < needed:
            capacity *= 2
        grown = []
        for old, like in ((self.keys, key_states), (self.values, value_states)):
            buffer = like.new_empty(*like.shape[:-2], capacity, like.shape[-1])
            if self.length:
                buffer[:, :, : self.length] = old[:, :, : self.length]
            grown.append(buffer)
        self.keys, self.values = grown
        self.is_initialized = True

    def get_seq_length(self) -> int:
        """Tokens in this layer."""
        return self.length

    def crop(self, tokens_to_remove: int) -> None:
        """Forget the last tokens; as in transformers 5, the number is given negative."""
        self.length = max(0, self.length - abs(tokens_to_remove))


def new_cache(config: Any) -> Cache:
    """An empty cache for a model of this config: buffers where the layer is plain attention, else transformers' own layer."""
    layers = DynamicCache(config=config).layers
    return Cache(layers=[BufferLayer() if type(layer) is DynamicLayer else layer for layer in layers])


def rollback_obstacle(config: Any, context_length: int) -> str | None:
    """Why this model's cache can't be rolled back exactly, or None where it can. Needs the config only, no weights."""
    try:
        layers = DynamicCache(config=config).layers
    except (KeyError, AttributeError, TypeError) as error:
        return f"its layers are of a kind this version doesn't know ({error})"
    for number, layer in enumerate(layers):
        if isinstance(layer, LinearAttentionCacheLayerMixin):
            return f"layer {number} keeps a recurrent state, which forgets what it was before a token ({type(layer).__name__})"
        if getattr(layer, "is_sliding", False) and layer.sliding_window < context_length:
            return f"layer {number} attends to a sliding window of {layer.sliding_window} tokens and drops older ones"
        if not layer.is_croppable or not isinstance(layer, (DynamicLayer, DummyLayer)):
            return f"layer {number} is of a kind that can't be cut back to an earlier length ({type(layer).__name__})"
    return None
