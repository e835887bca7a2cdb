"""Progress on standard error: bars for downloads, loads and runs."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

if TYPE_CHECKING:
    from easd_viz.models import Progress


class LoadBar:
    """Shows a pair's download, conversion and load; a callback for ``models.load_pair``."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._what = ""

    def __enter__(self) -> LoadBar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, progress: Progress) -> None:
        what = f"{progress.stage} {progress.what}"
        if what != self._what:
            self.__exit__(None, None, None)
            self._what = what
            self._bar = tqdm(unit="B", unit_scale=True, desc=what, leave=False)
        self._bar.total = progress.total
        self._bar.n = progress.done
        self._bar.refresh()
