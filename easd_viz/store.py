"""Trace files on disk: the one door through which the app and the command line read and write them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from easd_viz import trace as trace_module
from easd_viz.trace import Trace, TraceError
from easd_viz.verify import check_step


def parse(data: bytes | str) -> Trace:
    """A trace from its JSON Lines, every field and every verdict checked (raises TraceError with the line)."""
    return trace_module.loads(data, check_step)


def load(path: str | Path) -> Trace:
    """Read one trace file (raises TraceError with the file and the line)."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return parse(data)
    except TraceError as error:
        raise TraceError(f"{Path(path).name}: {error}") from None


def load_all(paths: Iterable[str | Path]) -> list[Trace]:
    """Read several files; a folder stands for the ``.jsonl`` files in it, by name."""
    files: list[Path] = []
    for path in map(Path, paths):
        files += sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise TraceError("no trace files were found; give .jsonl files or a folder that holds some")
    return [load(path) for path in files]


def save(trace: Trace, path: str | Path) -> None:
    """Write the file atomically: it is whole or it is not there."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.writelines(trace_module.lines(trace))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
