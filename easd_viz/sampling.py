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
    """H = -sum p ln p over the full vocabulary, nats. [n, vocab] -> [n]."""
    terms: Tensor = torch.special.entr(probs)
    return terms.sum(-1)


def inverse_cdf(weights: Tensor, uniforms: Tensor) -> Tensor:
    """The first id whose cumulative weight reaches ``uniform`` x total: one draw per row. Weights need no normalising.

    weights [n, vocab] float32 >= 0, uniforms [n] in (0, 1] -> [n] int64. An id of weight 0 is never drawn, unless all are.
    Two levels, blocks first, so that a row costs one sum instead of one running sum; sums in float64 where there is one.
    """
    rows, vocab = weights.shape
    wide = torch.float32 if weights.device.type == "mps" else torch.float64
    padded = torch.nn.functional.pad(weights, (0, -vocab % BLOCK)).view(rows, -1, BLOCK)
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


def acceptance_mass(p: Tensor, q: Tensor) -> Tensor:
    """beta = sum over v of min(p(v), q(v)): SD's acceptance probability at a position. [n, vocab] -> [n]."""
    return torch.minimum(p, q).sum(-1).clamp_(max=1.0)


def tv_target(p: Tensor, q: Tensor, beta: Tensor) -> Tensor:
    """Total variation between p and the emitted law with the gate open, rule ``target``: beta p + max(p - q, 0). -> [n]."""
    law = beta.unsqueeze(-1) * p + residual(p, q)
    return _total_variation(law, p)


def tv_exclude(p: Tensor, q: Tensor, greedy: bool) -> Tensor:
    """The same under rule ``exclude``: P(y) = sum over x != y of min(p, q)(x) p(y) / (1 - p(x)) + max(p - q, 0)(y). -> [n].

    Where p(x) = 1 the drafted token is kept, as nothing is left to draw from. At temperature 0 the law is one-hot at the
    target's second choice wherever both models agree, so it is beta itself.
    """
    both = torch.minimum(p, q)
    if greedy:
        return both.sum(-1)
    best = p.argmax(-1, keepdim=True)
    rest_of_best = p.scatter(-1, best, 0.0).sum(-1, keepdim=True)  # 1 - p would lose its digits where p is near 1
    rest = (1 - p).scatter(-1, best, rest_of_best)
    certain = p >= 1
    weight = torch.where(certain, 0.0, both / rest.clamp(min=torch.finfo(p.dtype).tiny))
    law = p * (weight.sum(-1, keepdim=True) - weight) + residual(p, q) + torch.where(certain, both, 0.0)
    return _total_variation(law, p)


def _total_variation(a: Tensor, b: Tensor) -> Tensor:
    return ((a - b).abs().sum(-1) / 2).clamp_(max=1.0)
