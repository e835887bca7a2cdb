"""Which number format a device multiplies matrices fastest in: bf16 on a GPU and on CPUs that have it, else float32."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch


def fast_dtype(device: torch.device | str) -> torch.dtype:
    """bfloat16 where the device computes with it; a CPU without it would emulate it at a sixth of float32's speed."""
    if torch.device(device).type != "cpu" or torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return torch.bfloat16
    return torch.float32


def autocast(device: torch.device) -> AbstractContextManager[object]:
    """Matrix products in ``fast_dtype``."""
    return torch.autocast(device.type, torch.bfloat16, enabled=fast_dtype(device) is torch.bfloat16)
