"""A loaded model and its KV cache, behind prefill / forward / rollback. No text, no sampling."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from easd_viz.trace import ModelInfo

if TYPE_CHECKING:
    from torch import Tensor


class Model:
    """One causal language model with its weights on a device. Safe to share between threads; each run has its own Session."""

    def __init__(self, network: Any, *, id: str, revision: str | None, context_length: int) -> None:
        self.network = network
        """The transformers model, in eval mode."""
        self.id = id
        self.revision = revision
        """Commit or version of the weights, where there is one."""
        self.context_length = context_length
        """Positions the model was built for, in tokens."""
        self.vocab_size: int = network.config.get_text_config().vocab_size
        """Logit rows, padding rows included."""
        self.dtype = str(network.dtype).removeprefix("torch.")
        self.device: str = network.device.type
        self._accepts = frozenset(inspect.signature(network.forward).parameters)
        self._positions: Tensor | None = None

    def prefill(self, token_ids: Sequence[int]) -> Session:
        """A fresh session with these tokens in its cache. No logits are computed; an empty sequence gives an empty cache."""
        import torch

        session = Session(self)
        if len(token_ids):
            session.append(torch.tensor(token_ids, dtype=torch.int64).to(self.network.device))
        return session

    def info(self) -> ModelInfo:
        """What a trace's header says about this model."""
        return ModelInfo(self.id, self.revision, self.dtype, self.device, self.vocab_size)

    def positions(self, start: int, end: int) -> Tensor:
        """Position ids [1, end - start] as a view of one tensor made once."""
        import torch

        if self._positions is None or self._positions.shape[1] < end:
            self._positions = torch.arange(max(end, self.context_length), device=self.network.device)[None]
        return self._positions[:, start:end]

    def accepts(self, argument: str) -> bool:
        """Whether the network's forward takes an argument of this name."""
        return argument in self._accepts


class Session:
    """One model's KV cache over one growing token sequence; not shared between threads."""

    def __init__(self, model: Model) -> None:
        from easd_viz.models.cache import new_cache

        self.model = model
        self.length = 0
        """Tokens in the cache."""
        self._cache = new_cache(model.network.config)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Logits [n, vocab_size] after each of these tokens, in the model's dtype; the n tokens join the cache.

        ``token_ids``: [n] int64 on the model's device, n >= 1. Causal over the cache and the n tokens alike. Nothing waits for
        the device. The logits are an inference tensor: they can be read and copied anywhere, but not changed in place outside
        ``torch.inference_mode``.
        """
        return self._call(token_ids).logits[0]  # type: ignore[no-any-return]

    def append(self, token_ids: Tensor) -> None:
        """``forward`` without the logits: [n] int64 tokens join the cache."""
        head_rows = {"logits_to_keep": 1} if self.model.accepts("logits_to_keep") else {}
        self._call(token_ids, **head_rows)

    def rollback(self, length: int) -> None:
        """Forget everything behind the first ``length`` tokens; nothing is copied and nothing waits for the device."""
        if not 0 <= length <= self.length:
            raise ValueError(f"can't roll back to {length} tokens; the cache holds {self.length}")
        self._cache.crop(length - self.length)
        self.length = length

    def held(self) -> int:
        """Tokens in the cache by its own account; equal to ``length``."""
        return int(self._cache.get_seq_length())

    def _call(self, token_ids: Tensor, **options: Any) -> Any:
        import torch

        end = self.length + token_ids.shape[0]
        with torch.inference_mode():
            if self.model.accepts("position_ids"):
                options["position_ids"] = self.model.positions(self.length, end)
            output = self.model.network(input_ids=token_ids[None], cache=self._cache, use_cache=True, **options)
        self.length = end
        return output


def check_rollback(model: Model) -> str | None:
    """Why the real cache of a loaded model can't be rolled back exactly, or None where it can (one forward of two tokens)."""
    import torch

    session = Session(model)
    logits = session.forward(torch.zeros(2, dtype=torch.int64, device=model.network.device))
    if logits.shape != (2, model.vocab_size):
        return f"its logits have the shape {tuple(logits.shape)} where (2, {model.vocab_size}) was expected"
    held = session.held()
    if held != 2:
        return f"it reports {held} tokens after 2"
    session.rollback(1)
    return None if session.held() == 1 else f"it reports {session.held()} tokens after a rollback to 1"
