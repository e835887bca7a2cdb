"""Hugging Face ZeroGPU, where it is there: a GPU that is lent per call.

Its rules, for whoever calls ``on_gpu``:

- The call runs in a forked worker. Arguments and everything yielded are pickled; caches, locks, flags and changes made in place
  do not come back. A call therefore decodes as much as is asked and yields finished steps; going on later is a resume.
- The function is a plain function or a generator, never async. Closing the generator ends the call.
- Models are put on ``cuda`` at module level, before the first call, and ``spaces`` is imported before CUDA is touched.
- A visitor's daily quota is small, and a spent one raises: fall back to a recorded trace.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def on_gpu(function: F, duration: int | Callable[..., int] = 60) -> F:
    """The function inside a ZeroGPU call of at most ``duration`` seconds, or itself where the ``spaces`` package is missing.

    ``duration`` may be a callable of the function's own arguments. Where there is ``spaces`` but no ZeroGPU, ``spaces.GPU`` hands
    the function back unchanged.
    """
    try:
        spaces = importlib.import_module("spaces")
    except ImportError:
        return function
    decorated: F = spaces.GPU(duration=duration)(function)
    return decorated
