"""A lean batched sampler for Llama models: the target writes the training text.

Plain ``generate`` spends most of its time on bookkeeping, padding and finished rows. Here the key/value cache is allocated once,
finished rows hand their slot to the next conversation, the head sees only the last position, and on a CPU the weights are packed
for oneDNN once and the vocabulary-wide work goes in blocks of rows that fit its cache.

Every position keeps the target's last hidden state (after the final norm) and the log of its softmax's normaliser.
Together with the embedding table these give the *exact* distribution over any vocabulary at any temperature, in fewer
bytes than a long list of top log-probabilities of every temperature would need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from distill import attend

SAMPLE_BLOCK = 256
"""Vocabulary entries per block of the two-stage inverse-CDF draw."""

ATTENTION_ROWS = 64
"""Slots whose attention is computed together, up to the longest of them."""

DRAW_ROWS = 32
"""Rows whose logits are worked on at a time on a CPU."""


@dataclass
class Conversation:
    """One conversation to sample: what goes in, and (after sampling) what came out."""

    prompt_ids: list[int]
    kind: str
    """What sort of prompt it is ("summary", "sums", ...): for the balance sheet only."""
    temperature: float
    """Sampling temperature; 0 is greedy."""
    max_new: int
    """Most tokens to sample."""
    end_tokens: int = 1
    """Stop after so many end-of-turn tokens (2 where the target also fills in the user's turn)."""
    new_ids: list[int] = field(default_factory=list)
    hidden: list[torch.Tensor] = field(default_factory=list)
    """Per sampled token: the target's normed last hidden state, [hidden]."""
    log_normaliser: list[float] = field(default_factory=list)
    """Per sampled token: logsumexp of the target's logits (temperature 1)."""


class LeanLlama:
    """Inference-only Llama over a preallocated cache of ``slots`` rows of ``max_len`` positions."""

    def __init__(self, model: Any, slots: int, max_len: int, pack: bool = True) -> None:
        config = model.config
        weight = model.lm_head.weight
        self.device, self.dtype = weight.device, weight.dtype
        self.heads = config.num_attention_heads
        self.kv_heads = config.num_key_value_heads
        self.head_dim = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.eps = config.rms_norm_eps
        self.vocab_size = config.vocab_size
        self.slots, self.max_len = slots, max_len
        self.pack = pack and self.device.type == "cpu" and torch._C._has_mkldnn
        self.embedding = model.model.embed_tokens.weight.detach()
        self.head = self._linear(weight)
        self.final_norm = model.model.norm.weight.detach()
        self.layers = [self._layer(layer) for layer in model.model.layers]
        theta = config.rope_parameters["rope_theta"]
        steps = torch.arange(0, self.head_dim, 2, dtype=torch.float32, device=self.device)
        angles = torch.outer(torch.arange(max_len, device=self.device, dtype=torch.float32), theta ** (-steps / self.head_dim))
        angles = torch.cat([angles, angles], dim=-1)  # [max_len, head_dim]
        self.cos, self.sin = angles.cos().to(self.dtype), angles.sin().to(self.dtype)
        shape = (len(self.layers), slots, self.kv_heads, max_len, self.head_dim)
        self.keys = torch.zeros(shape, dtype=self.dtype, device=self.device)
        self.values = torch.zeros(shape, dtype=self.dtype, device=self.device)

    def _linear(self, weight: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        weight = weight.detach().contiguous()
        if self.pack:
            packed = torch.ops.mkldnn._reorder_linear_weight(weight, 128)
            return lambda x: torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], "")
        return lambda x: F.linear(x, weight)

    def _layer(self, layer: Any) -> dict[str, Any]:
        attention, mlp = layer.self_attn, layer.mlp
        qkv = [attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight]
        return {
            "norm1": layer.input_layernorm.weight.detach(),
            "norm2": layer.post_attention_layernorm.weight.detach(),
            "qkv": self._linear(torch.cat(qkv)),
            "out": self._linear(attention.o_proj.weight),
            "gate_up": self._linear(torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])),
            "down": self._linear(mlp.down_proj.weight),
        }

    def _norm(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self.eps)

    def _rotate(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-second, first], dim=-1) * sin

    def _qkv(self, x: torch.Tensor, layer: dict[str, Any], cos: torch.Tensor, sin: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """x [rows, hidden] -> q [rows, heads, head_dim], k and v [rows, kv_heads, head_dim]."""
        joined = layer["qkv"](self._norm(x, layer["norm1"])).view(x.shape[0], -1, self.head_dim)
        rotated = self._rotate(joined[:, : self.heads + self.kv_heads], cos, sin)
        return rotated[:, : self.heads], rotated[:, self.heads :], joined[:, self.heads + self.kv_heads :]

    def _mlp(self, x: torch.Tensor, layer: dict[str, Any]) -> torch.Tensor:
        gate, up = layer["gate_up"](self._norm(x, layer["norm2"])).chunk(2, dim=-1)
        added: torch.Tensor = layer["down"](F.silu(gate) * up)
        return x + added

    def prefill(self, prompts: Sequence[Sequence[int]], slots: Sequence[int]) -> torch.Tensor:
        """Fills the slots' caches; returns the last hidden state of each prompt, [prompts, hidden]."""
        count, length = len(prompts), max(len(p) for p in prompts)
        ids = torch.zeros(count, length, dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt)] = torch.tensor(prompt)
        ids = ids.to(self.device)
        where = torch.tensor(slots, device=self.device)
        cos = self.cos[:length].repeat(count, 1).unsqueeze(1)  # [count * length, 1, head_dim]
        sin = self.sin[:length].repeat(count, 1).unsqueeze(1)
        x = self.embedding[ids.view(-1)]
        group = self.heads // self.kv_heads
        for index, layer in enumerate(self.layers):
            q, k, v = (part.view(count, length, -1, self.head_dim).transpose(1, 2) for part in self._qkv(x, layer, cos, sin))
            self.keys[index, where, :, :length] = k
            self.values[index, where, :, :length] = v
            k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + layer["out"](mixed.transpose(1, 2).reshape(count * length, -1))
            x = self._mlp(x, layer)
        last = torch.tensor([row * length + len(p) - 1 for row, p in enumerate(prompts)], device=self.device)
        return self._norm(x[last], self.final_norm)

    def step(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """One new token for the first ``len(ids)`` slots: ids and positions [rows] -> hidden states [rows, hidden]."""
        rows = len(ids)
        cos, sin = self.cos[positions].unsqueeze(1), self.sin[positions].unsqueeze(1)
        attention = self._attention(positions)
        row_index = torch.arange(rows, device=self.device)
        x = self.embedding[ids]
        for index, layer in enumerate(self.layers):
            q, k, v = self._qkv(x, layer, cos, sin)
            self.keys[index, row_index, :, positions] = k
            self.values[index, row_index, :, positions] = v
            x = x + layer["out"](attention(q, self.keys[index], self.values[index]).reshape(rows, -1))
            x = self._mlp(x, layer)
        return self._norm(x, self.final_norm)

    def _attention(self, positions: torch.Tensor) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]:
        """How q [rows, heads, head_dim] attends to a layer's keys and values up to each row's position."""
        group = self.heads // self.kv_heads
        on_cpu = self.device.type == "cpu" and self.dtype is torch.bfloat16
        if on_cpu and (kernel := attend.compiled(self.head_dim, group)):
            lengths = positions + 1
            return lambda q, keys, values: kernel(q, keys, values, lengths)
        parts = [
            self._part(start, positions[start : start + ATTENTION_ROWS]) for start in range(0, len(positions), ATTENTION_ROWS)
        ]

        def by_pytorch(q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
            mixed = [
                F.scaled_dot_product_attention(
                    q[part].view(-1, self.kv_heads, group, self.head_dim),  # a group's query heads as if they were positions
                    keys[part, :, : bias.shape[-1]],
                    values[part, :, : bias.shape[-1]],
                    attn_mask=bias,
                )
                for part, bias in parts
            ]
            return torch.cat(mixed)

        return by_pytorch

    def _part(self, start: int, positions: torch.Tensor) -> tuple[slice, torch.Tensor]:
        """Neighbouring slots and their mask [rows, 1, 1, length]; each part reads no further than its longest row."""
        length = int(positions.max()) + 1
        bias = torch.zeros(len(positions), 1, 1, length, dtype=self.dtype, device=self.device)
        unseen = torch.arange(length, device=self.device)[None, :] > positions[:, None]
        return slice(start, start + len(positions)), bias.masked_fill_(unseen[:, None, None, :], float("-inf"))

    def move(self, source: int, target: int, length: int) -> None:
        """Copies the first ``length`` positions of one slot to another."""
        self.keys[:, target, :, :length] = self.keys[:, source, :, :length]
        self.values[:, target, :, :length] = self.values[:, source, :, :length]


def draw(logits: torch.Tensor, temperatures: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Inverse-CDF draw per row, in two stages so that only block sums are accumulated over the whole vocabulary.

    logits [rows, vocab] float32, temperatures and uniforms [rows] -> token ids [rows]. Temperature 0 is greedy.
    """
    rows, vocab = logits.shape
    peak, greedy = logits.max(dim=-1)
    scale = 1.0 / temperatures.clamp(min=1e-6)
    weights = (logits - peak[:, None]).mul_(scale[:, None]).exp_()
    weights = F.pad(weights, (0, -vocab % SAMPLE_BLOCK)).view(rows, -1, SAMPLE_BLOCK)
    block_ends = weights.sum(dim=-1).double().cumsum(dim=-1)  # [rows, blocks]
    point = uniforms.double() * block_ends[:, -1]
    block = torch.searchsorted(block_ends, point[:, None], right=True).clamp(max=block_ends.shape[1] - 1)
    before = torch.where(block > 0, block_ends.gather(1, (block - 1).clamp(min=0)), 0.0)
    inside = weights.gather(1, block[:, :, None].expand(-1, -1, SAMPLE_BLOCK)).squeeze(1).double().cumsum(dim=-1)
    offset = torch.searchsorted(inside, point[:, None] - before, right=True).clamp(max=SAMPLE_BLOCK - 1)
    drawn = (block * SAMPLE_BLOCK + offset).squeeze(1).clamp(max=vocab - 1)
    return torch.where(temperatures > 0, drawn, greedy)


@torch.inference_mode()
def sample(
    model: LeanLlama,
    conversations: Sequence[Conversation],
    end_id: int,
    seed: int,
    on_tokens: Callable[[int], None] = lambda count: None,
) -> None:
    """Fills in ``new_ids``, ``hidden`` and ``log_normaliser`` of every conversation, by continuous batching.

    The uniform of a token is keyed by (seed, conversation, index), so it does not depend on which rows shared a batch.
    """
    queue = sorted(range(len(conversations)), key=lambda i: -len(conversations[i].prompt_ids))
    most = max(c.max_new for c in conversations)
    uniforms = np.random.default_rng(seed).random((len(conversations), most))
    active: list[int] = []  # active[slot] = index of the conversation in that slot
    refill_at = max(1, model.slots // 8)

    def finished(index: int) -> bool:
        c = conversations[index]
        return len(c.new_ids) >= c.max_new or (c.new_ids[-1] == end_id and c.new_ids.count(end_id) >= c.end_tokens)

    def emit(indices: list[int], hidden: torch.Tensor) -> None:
        chosen = [conversations[i] for i in indices]
        temperatures = torch.tensor([c.temperature for c in chosen], device=model.device)
        points = torch.tensor([uniforms[i, len(conversations[i].new_ids)] for i in indices], device=model.device)
        tokens, normalisers = [], []
        block = DRAW_ROWS if model.device.type == "cpu" else len(indices)
        for start in range(0, len(indices), block):
            rows = slice(start, start + block)
            logits = model.head(hidden[rows]).float()
            normalisers += logits.logsumexp(dim=-1).tolist()
            tokens += draw(logits, temperatures[rows], points[rows]).tolist()
        kept = hidden.cpu()
        for row, c in enumerate(chosen):
            c.new_ids.append(tokens[row])
            c.hidden.append(kept[row])
            c.log_normaliser.append(normalisers[row])
        on_tokens(len(indices))

    while queue or active:
        # 1. Free the slots of finished conversations: the last active slot moves into the hole.
        slot = 0
        while slot < len(active):
            if finished(active[slot]):
                last = active.pop()
                if slot < len(active):
                    c = conversations[last]
                    model.move(len(active), slot, len(c.prompt_ids) + len(c.new_ids) - 1)
                    active[slot] = last
            else:
                slot += 1
        # 2. Hand free slots to waiting conversations, several at a time.
        free = model.slots - len(active)
        if queue and (free >= refill_at or not active):
            take, queue = queue[:free], queue[free:]
            for start in range(0, len(take), 16):
                part = take[start : start + 16]
                slots = list(range(len(active), len(active) + len(part)))
                hidden = model.prefill([conversations[i].prompt_ids for i in part], slots)
                active.extend(part)
                emit(part, hidden)
            continue
        if not active:
            continue
        # 3. One token for every active conversation.
        ids = torch.tensor([conversations[i].new_ids[-1] for i in active], device=model.device)
        positions = [len(conversations[i].prompt_ids) + len(conversations[i].new_ids) - 1 for i in active]
        emit(active, model.step(ids, torch.tensor(positions, device=model.device)))
