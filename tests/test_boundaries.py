"""The architecture, executable: who may import what, and what importing costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "easd_viz"
MODULES = sorted(PACKAGE.rglob("*.py"))

ALLOWED: dict[str, tuple[str, ...]] = {
    "transformers": ("models",),
    "gradio": ("ui",),
    "plotly": ("views",),
    "torch": ("models", "sampling", "engine", "packing", "overlap", "zerogpu"),
    "spaces": ("zerogpu",),
}
"""Library -> the modules or packages of ours (and app.py) that may import it."""

FLOW: dict[str, tuple[str, ...]] = {
    "trace": (),
    "verify": ("trace",),
    "draws": (),
    "sampling": (),
    "packing": ("sampling", "trace"),
    "engine": ("draws", "packing", "sampling", "trace", "verify"),
    "store": ("trace", "verify"),
    "metrics": ("trace", "verify"),
    "replay": ("trace", "verify"),
    "calibrate": ("trace", "verify", "replay", "metrics"),
    "models": ("trace",),
    "compare": ("metrics", "trace"),
    "luck": (),
    "race": ("models", "record", "trace"),
    "link": ("models", "trace"),
    "export": ("assets", "trace", "views"),
}
"""Module -> the modules of ours it may import: data flows one way."""


def imports(path: Path) -> set[str]:
    """Full dotted names imported anywhere in a file, inside functions too; type-checking imports apart."""
    found: set[str] = set()
    for node in ast.walk(_without_type_checking(ast.parse(path.read_text()))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


class _DropTypeChecking(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)


def _without_type_checking(tree: ast.Module) -> ast.AST:
    return _DropTypeChecking().visit(tree)


def unit(path: Path) -> str:
    """The module's place: the first part below easd_viz, without .py."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_libraries_stay_in_their_modules(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports(path)}
    for library, places in ALLOWED.items():
        if unit(path) not in places:
            assert library not in roots, f"{path.relative_to(ROOT)} imports {library}, which belongs to {', '.join(places)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_data_flows_one_way(path: Path) -> None:
    here = unit(path)
    if here not in FLOW:
        return
    names = {n.split(".")[1] for n in imports(path) if n.startswith("easd_viz.")} - {"UserError", "__version__", here}
    assert names <= set(FLOW[here]), f"{here} may import {FLOW[here]}, but imports {sorted(names)}"


def test_the_scanner_sees_an_import_inside_a_function(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("def f():\n    from transformers import AutoModel\n")
    assert "transformers" in imports(file)


@pytest.mark.parametrize("module", ["easd_viz.models", "easd_viz.record", "easd_viz.__main__", "easd_viz.ui.app"])
def test_the_heavy_libraries_wait_until_they_are_needed(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('torch', 'transformers') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert out.stdout.strip().splitlines()[-1] == "[]", f"importing {module} loads {out.stdout.strip()}"


def test_app_py_is_a_screenful() -> None:
    assert len((ROOT / "app.py").read_text().splitlines()) <= 60
