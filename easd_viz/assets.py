"""Where the files are that a browser gets."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets"
EXAMPLES = ASSETS / "examples"


def plotly_folder() -> Path:
    """Where plotly's Python package keeps its own plotly.js: the version that its figures are for, without a network."""
    spec = find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "package_data"


def url(path: Path) -> str:
    """Where a page of the app gets a file of ours or of plotly's."""
    return f"gradio_api/file={path.as_posix()}"


@cache
def plotly_js() -> str:
    return (plotly_folder() / "plotly.min.js").read_text(encoding="utf-8")


@cache
def scripts() -> dict[str, str]:
    """Our own modules: source by path below ``assets/js``."""
    folder = ASSETS / "js"
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.js"))}


@cache
def style() -> str:
    return (ASSETS / "easd.css").read_text(encoding="utf-8")
