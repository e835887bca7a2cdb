"""Packed linear layers: the same function as the ones they replace, for any number of rows."""

import pytest
import torch

from easd_viz.models.linear import PackedLinear, can_pack, pack_linears

pytestmark = pytest.mark.skipif(not can_pack(torch.zeros(1)), reason="PyTorch without oneDNN here")


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(24, 40), torch.nn.SiLU(), torch.nn.Linear(40, 24, bias=False))
        self.head = torch.nn.Linear(24, 50, bias=False)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(rows))


@pytest.mark.parametrize("shape", [(1, 24), (2, 24), (9, 24), (1, 5, 24), (200, 24)])
def test_the_numbers_stay(shape: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    network, rows = Network(), torch.randn(shape)
    with torch.inference_mode():
        before = network(rows)
        pack_linears(network)
        after = network(rows)
    assert [type(m) for m in (network.body[0], network.body[2], network.head)] == [PackedLinear] * 3
    torch.testing.assert_close(after, before, atol=1e-5, rtol=1e-5)
    assert not torch.equal(after, torch.zeros_like(after))


def test_a_shared_head_stays_shared() -> None:
    first, second = Network(), Network()
    second.head = first.head
    pack_linears(first, second)
    assert first.head is second.head
    assert first.body[0] is not second.body[0]


def test_what_onednn_cannot_compute_with_is_left_alone() -> None:
    network = Network().to(torch.float64)
    pack_linears(network)
    assert type(network.head) is torch.nn.Linear


def test_subclasses_are_left_alone() -> None:
    class Scaled(torch.nn.Linear):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(rows)

    network = Network()
    network.head = Scaled(24, 50)
    pack_linears(network)
    assert type(network.head) is Scaled
