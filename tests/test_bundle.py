"""ES modules as one classic script: the forms that are known, and the refusal of those that are not."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from easd_viz import assets
from easd_viz.views.bundle import bundle

MODULES = {
    "main.js": """import { twice, start as from } from "./lib/math.js";
import { NAME } from "./names.js";
print(NAME + twice(from));
""",
    "lib/math.js": """import { NAME } from "../names.js";
export const start = NAME.length;
export function twice(n) { return 2 * n; }
""",
    "names.js": """const NAME = "n";
export { NAME };
""",
}


def run(source: str) -> str:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    return subprocess.run(
        [node, "-e", f"const print = console.log;\n{source}"], capture_output=True, text=True, check=True
    ).stdout


def test_modules_run_as_one_script() -> None:
    assert run(bundle(MODULES, "main.js")) == "n2\n"


def test_a_module_is_taken_once_and_only_where_it_is_needed() -> None:
    source = bundle({**MODULES, "other.js": "boom();\n"}, "main.js")
    assert source.count('modules["names.js"] =') == 1
    assert "boom" not in source


@pytest.mark.parametrize("line", ['import x from "./names.js";', "export default 3;", 'import "./names.js";'])
def test_an_unknown_form_is_refused_by_name(line: str) -> None:
    with pytest.raises(ValueError, match=r"odd\.js"):
        bundle({**MODULES, "odd.js": f"{line}\n"}, "odd.js")


def test_a_circle_is_refused() -> None:
    with pytest.raises(ValueError, match="circle"):
        bundle({"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'}, "a.js")


def test_the_exported_page_s_own_scripts_bundle_and_parse() -> None:
    source = bundle(assets.scripts(), "standalone.js")
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    checked = subprocess.run([node, "--check", "-"], input=source, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
