"""Several processes train one draft: each has a batch of its own, gradients are summed, all take the same step.

On a CPU that other programs use too, processes of one thread wait for each other once a step; the threads of one process do so at
every matrix product.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

RANK, SIZE, MEETING = "DISTILL_RANK", "DISTILL_SIZE", "DISTILL_MEETING"


class Team:
    """This process's place among those that train together; alone, all of its methods cost nothing."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def leads(self) -> bool:
        """Whether this process writes logs and checkpoints."""
        return self.rank == 0

    def agree(self, value: Any) -> Any:
        """The leader's value, for all."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box)
        return box[0]

    def add_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Replaces every gradient by the sum over the team, in one message."""
        if self.size == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([g.flatten() for g in gradients])
        dist.all_reduce(flat)
        for gradient, summed in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
            gradient.copy_(summed.view_as(gradient))


def join() -> Team:
    """The team that ``lead`` started this process for, or a team of one."""
    if SIZE not in os.environ:
        return Team()
    rank, size = int(os.environ[RANK]), int(os.environ[SIZE])
    dist.init_process_group("gloo", init_method=f"file://{os.environ[MEETING]}", rank=rank, world_size=size)
    torch.set_num_threads(max(1, torch.get_num_threads() // size))
    return Team(rank, size)


def lead(size: int) -> int:
    """Runs this very command in ``size`` processes; the first failure ends all. Their exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the children are ended too
    with tempfile.TemporaryDirectory() as folder:
        shared = {**os.environ, SIZE: str(size), MEETING: f"{folder}/meeting"}
        children = [subprocess.Popen([sys.executable, *sys.argv], env={**shared, RANK: str(rank)}) for rank in range(size)]
        try:
            while any(child.poll() is None for child in children):
                if any(child.poll() for child in children):
                    break
                time.sleep(0.5)
        finally:
            for child in children:
                child.terminate()
        return max(abs(child.wait()) for child in children)
