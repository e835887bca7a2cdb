"""Logits to distributions, entropies and draws. Pure torch: no loop over tokens, no printing, no state.

Every softmax and entropy is float32 whatever the model's dtype. In names p is the target, q the draft (EASD's notation).
"""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 256
"""Vocabulary entries per block of the two-level inverse CDF."""


def distribution(logits: Tensor, temperature: float) -> Tensor:
    """The softmax that entropy is defined on: at ``temperature``, before any truncation; at 0 the one at temperature 1.

    [n, vocab] any float dtype -> [n, vocab] float32.
    """
    wide = logits.float()
    return torch.softmax(wide / temperature if temperature > 0 else wide, dim=-1)


def sampling_distribution(logits: Tensor, temperature: float, top_k: int = 0, top_p: float = 1.0) -> Tensor:
    """What tokens are drawn from: temperature, then top-k, then top-p, as transformers' warpers do; greedy is one-hot.

    [n, vocab] any float dtype -> [n, vocab] float32. ``top_k`` 0 and ``top_p`` 1 are off.
    """
    wide = logits.float()
    if temperature == 0:
        return torch.zeros_like(wide).scatter_(-1, wide.argmax(-1, keepdim=True), 1.0)
    wide = wide / temperature
    if 0 < top_k < wide.shape[-1]:
        kth = torch.topk(wide, top_k, dim=-1).values[:, -1:]
        wide = wide.masked_fill(wide < kth, -torch.inf)
    if top_p < 1:
        wide = wide.masked_fill(_outside_nucleus(wide, top_p), -torch.inf)
    return torch.softmax(wide, dim=-1)


def _outside_nucleus(logits: Tensor, top_p: float) -> Tensor:
    """[n, vocab] bool: the least likely tokens that together hold at most 1 - top_p; the likeliest is never among them."""
    ascending, order = torch.sort(logits, dim=-1)
    outside = torch.softmax(ascending, dim=-1).cumsum(-1) <= 1 - top_p
    outside[:, -1] = False
    return torch.zeros_like(outside).scatter_(-1, order, outside)


def entropy(probs: Tensor) -> Tensor:
    """H = -sum p ln p over the full vocabulary, nats; 0 ln 0 is 0. [n, vocab] -> [n]."""
    logs = probs.clamp(min=torch.finfo(probs.dtype).tiny).log_()
    return logs.mul_(probs).sum(-1).neg_()


def all_finite(logits: Tensor) -> Tensor:
    """Whether every logit is: a sum is finite only then (NaN and the infinities stay in it). [n, vocab] -> [n] bool."""
    return torch.isfinite(logits.sum(-1, dtype=torch.float32))


def inverse_cdf(weights: Tensor, uniforms: Tensor) -> Tensor:
    """The first id whose cumulative weight reaches ``uniform`` x total: one draw per row. Weights need no normalising.

    weights [n, vocab] float32 >= 0, uniforms [n] in (0, 1] -> [n] int64. An id of weight 0 is never drawn, unless all are.
    Two levels, blocks first, so that a row costs one sum instead of one running sum; sums in float64 where there is one.
    """
    rows, vocab = weights.shape
    wide = torch.float32 if weights.device.type == "mps" else torch.float64
    padded = weights if vocab % BLOCK == 0 else torch.nn.functional.pad(weights, (0, -vocab % BLOCK))
    padded = padded.view(rows, -1, BLOCK)
    ends = padded.sum(-1, dtype=wide).cumsum(-1)  # [n, blocks]
    aim = uniforms.to(wide).unsqueeze(-1) * ends[:, -1:]  # [n, 1]
    block = torch.searchsorted(ends, aim).clamp_(max=ends.shape[-1] - 1)  # [n, 1]
    before = torch.where(block > 0, ends.gather(-1, (block - 1).clamp_(min=0)), 0.0)
    chosen = padded.gather(1, block.unsqueeze(-1).expand(-1, 1, BLOCK)).squeeze(1)  # [n, BLOCK]
    inside = chosen.cumsum(-1, dtype=wide)
    offset = torch.searchsorted(inside, torch.minimum(aim - before, inside[:, -1:]))
    return (block * BLOCK + offset).squeeze(-1).clamp_(max=vocab - 1)


def residual(p: Tensor, q: Tensor) -> Tensor:
    """max(p - q, 0), not normalised (Leviathan et al. 2023, algorithm 1). [n, vocab] -> [n, vocab]."""
    return (p - q).clamp_(min=0)


def excluding(p: Tensor, logits: Tensor, token_ids: Tensor, greedy: bool) -> Tensor:
    """p without the drafted token, not normalised: EASD v1's penalty. At temperature 0: one-hot at the target's second choice.

    p and logits [n, vocab], token_ids [n] -> [n, vocab].
    """
    index = token_ids.unsqueeze(-1)
    if greedy:
        second = logits.float().scatter(-1, index, -torch.inf).argmax(-1, keepdim=True)
        return torch.zeros_like(p).scatter_(-1, second, 1.0)
    return p.scatter(-1, index, 0.0)


def common(p: Tensor, q: Tensor) -> Tensor:
    """min(p, q): its sum is beta, SD's acceptance probability at a position. [n, vocab] -> [n, vocab]."""
    return torch.minimum(p, q)


def tv_target(p: Tensor, residual: Tensor, beta: Tensor) -> Tensor:
    """Total variation between p and the emitted law with the gate open, rule ``target``: beta p + max(p - q, 0).

    p and residual [n, vocab], beta [n] -> [n].
    """
    return _half_sum((residual - p * (1 - beta).unsqueeze(-1)).abs_())


def tv_exclude(p: Tensor, residual: Tensor, both: Tensor, greedy: bool) -> Tensor:
    """The same under rule ``exclude``: P(y) = sum over x != y of min(p, q)(x) p(y) / (1 - p(x)) + max(p - q, 0)(y). -> [n].

    p, residual and ``both`` = min(p, q) are [n, vocab]. Where p(x) = 1 the drafted token is kept, as nothing is left to draw
    from. At temperature 0 the law is one-hot at the target's second choice wherever both models agree, so it is beta itself.
    """
    if greedy:
        return both.sum(-1)
    most, best = p.max(-1, keepdim=True)
    wide = torch.float32 if p.device.type == "mps" else torch.float64
    rest_of_best = (p.sum(-1, keepdim=True, dtype=wide) - most).to(p.dtype)  # 1 - p would lose its digits where p is near 1
    rest = (1 - p).scatter_(-1, best, rest_of_best.clamp_(min=torch.finfo(p.dtype).tiny))
    weight = both / rest
    kept = torch.where(most >= 1, both.gather(-1, best), 0.0)
    weight.scatter_(-1, best, torch.where(most >= 1, 0.0, weight.gather(-1, best)))
    moved = (weight.sum(-1, keepdim=True) - 1 - weight).mul_(p).add_(residual).scatter_add_(-1, best, kept)
    return _half_sum(moved.abs_())


def _half_sum(differences: Tensor) -> Tensor:
    return (differences.sum(-1) / 2).clamp_(max=1.0)
