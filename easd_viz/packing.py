"""A round's numbers in one tensor, so that one copy brings them to the host; and their form on the host.

Numbers cross as float32 (ids up to 2**24 are exact in it) and become the Python floats whose shortest decimal is the
float32's own: what is decided on, what the trace file says and what is read back are then the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import torch
from torch import Tensor

from easd_viz import sampling
from easd_viz.trace import TOP_LENGTH, Config

TopList = list[tuple[int, float]]
"""(token id, probability), best first."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A token that could be emitted at a position, drawn with the position's emit uniform."""

    token_id: int
    prob: float
    """Under the law it was drawn from."""
    target_prob: float


@dataclass(frozen=True, slots=True)
class Row:
    """One position of a round on the host. The last row of a verified round has no drafted token, only the target's side."""

    numbers: dict[str, float]
    """By the trace's field names, and ``draft_infinite``, ``target_infinite`` (1 where a logit is not finite)."""
    draft_top: TopList
    target_top: TopList

    @property
    def token_id(self) -> int:
        return int(self.numbers["token_id"])

    def drawn(self, law: str) -> Drawn:
        """The candidate ``from_residual``, ``from_target`` or, where that is the resampling rule, ``excluding`` the draft."""
        n = self.numbers
        return Drawn(int(n[f"{law}_id"]), n[f"{law}_prob"], n[f"{law}_target_prob"])


@dataclass(frozen=True, slots=True)
class Drafted:
    """The draft phase's result on the draft's device: ids [gamma], logits and sampling distribution q [gamma, vocab]."""

    ids: Tensor
    logits: Tensor
    q: Tensor


@dataclass(frozen=True, slots=True)
class Packed:
    """Columns side by side: one per name, then the draft's and the target's top list (ids, then probabilities)."""

    names: list[str]
    values: Tensor
    """[rows, len(names) + 2 K per list], float32."""
    k_draft: int
    k_target: int


def pack_draft(drafted: Drafted, config: Config, lists: bool = True) -> Packed:
    """A draft-only round: the draft's columns and top list. -> gamma rows."""
    columns, top = _draft_side(drafted, config, lists)
    return Packed(list(columns), torch.cat((torch.stack(list(columns.values()), 1), top), 1), top.shape[1] // 2, 0)


def pack(drafted: Drafted, target_logits: Tensor, uniforms: Sequence[float], config: Config, lists: bool = True) -> Packed:
    """A verified round: target_logits [gamma + 1, vocab], ``uniforms`` the gamma + 1 emit draws. -> gamma + 1 rows."""
    device, count = target_logits.device, len(drafted.ids)
    drafted = Drafted(drafted.ids.to(device), drafted.logits.to(device), drafted.q.to(device))
    full = sampling.distribution(target_logits, config.temperature)
    p = full if config.is_plain else sampling.sampling_distribution(target_logits, config.temperature, config.top_k, config.top_p)
    emit = torch.tensor(uniforms, device=device)
    columns = {
        "target_entropy": sampling.entropy(full),
        "target_infinite": (~sampling.all_finite(target_logits)).float(),
        **_draw("from_target", p, p, emit),
    }
    top = _top(full, config, lists)
    if not count:
        return Packed(list(columns), torch.cat((torch.stack(list(columns.values()), 1), top), 1), 0, top.shape[1] // 2)
    draft_columns, draft_top = _draft_side(drafted, config, lists)
    compared = _compare(drafted, p[:count], target_logits[:count], emit[:count], config, lists)
    columns |= {name: _pad(column) for name, column in (draft_columns | compared).items()}
    values = torch.cat((torch.stack(list(columns.values()), 1), _pad(draft_top), top), 1)
    return Packed(list(columns), values, draft_top.shape[1] // 2, top.shape[1] // 2)


def unpack(packed: Packed) -> list[Row]:
    """The one copy to the host: this is where a round waits for its device."""
    array = packed.values.cpu().numpy()
    table: list[list[float]] = orjson.loads(orjson.dumps(array, option=orjson.OPT_SERIALIZE_NUMPY))
    first, width = len(packed.names), 2 * packed.k_draft
    return [
        Row(
            dict(zip(packed.names, values, strict=False)),
            _top_list(values[first : first + width]),
            _top_list(values[first + width :]),
        )
        for values in table
    ]


def _top_list(values: list[float]) -> TopList:
    half = len(values) // 2
    return [(int(i), prob) for i, prob in zip(values[:half], values[half:], strict=True)]


def _draft_side(drafted: Drafted, config: Config, lists: bool) -> tuple[dict[str, Tensor], Tensor]:
    full = drafted.q if config.is_plain else sampling.distribution(drafted.logits, config.temperature)
    columns = {
        "token_id": drafted.ids.float(),
        "draft_prob": _at(drafted.q, drafted.ids),
        "draft_entropy": sampling.entropy(full),
        "draft_infinite": (~sampling.all_finite(drafted.logits)).float(),
    }
    return columns, _top(full, config, lists)


def _compare(drafted: Drafted, p: Tensor, logits: Tensor, emit: Tensor, config: Config, lists: bool) -> dict[str, Tensor]:
    """What needs both models, per drafted token; p and logits are the target's, [gamma, vocab]. Columns [gamma]."""
    greedy = config.temperature == 0
    residual = sampling.residual(p, drafted.q)
    columns = {"target_prob": _at(p, drafted.ids), **_draw("from_residual", residual, p, emit)}
    if config.resample == "exclude":
        columns |= _draw("excluding", sampling.excluding(p, logits, drafted.ids, greedy), p, emit)
    if lists:
        both = sampling.common(p, drafted.q)
        beta = both.sum(-1).clamp_(max=1.0)
        columns |= {
            "beta": beta,
            "tv_target": sampling.tv_target(p, residual, beta),
            "tv_exclude": sampling.tv_exclude(p, residual, both, greedy),
        }
    return columns


def _draw(law: str, weights: Tensor, p: Tensor, uniforms: Tensor) -> dict[str, Tensor]:
    """One token per row from the normalised weights [n, vocab]; prob is 0 where all weights are."""
    ids = sampling.inverse_cdf(weights, uniforms)
    total = weights.sum(-1).clamp(min=torch.finfo(torch.float32).tiny)
    prob = (_at(weights, ids) / total).clamp(max=1.0)
    return {f"{law}_id": ids.float(), f"{law}_prob": prob, f"{law}_target_prob": _at(p, ids)}


def _at(rows: Tensor, ids: Tensor) -> Tensor:
    """rows [n, vocab] at ids [n] -> [n]."""
    return rows.gather(-1, ids.unsqueeze(-1)).squeeze(-1)


def _top(full: Tensor, config: Config, lists: bool) -> Tensor:
    """[n, vocab] -> [n, 2 K]: the K most likely ids, then their probabilities."""
    length = max(TOP_LENGTH, config.k) if lists else config.k
    probs, ids = torch.topk(full, min(length, full.shape[-1]), dim=-1)
    return torch.cat((ids.float(), probs), 1)


def _pad(column: Tensor) -> Tensor:
    """A row of zeros for the position that has no drafted token."""
    pad: list[Any] = [0, 0] * (column.dim() - 1) + [0, 1]
    return torch.nn.functional.pad(column, pad)
