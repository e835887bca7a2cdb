"""axe-core finds no serious or critical violation, on any tab, in either theme.

axe-core comes from npm, once, into the cache; without npm or network these tests are skipped, and say so.
"""

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

VERSION = "4.14.1"


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core's script."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "easd-viz"
    script = cache / f"axe-core-{VERSION}.min.js"
    if not script.exists():
        fetch(cache, script)
    return script.read_text(encoding="utf-8")


def fetch(cache: Path, script: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, and axe-core is not in the cache")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as own:  # another worker may be fetching it too
        done = subprocess.run([npm, "pack", f"axe-core@{VERSION}"], cwd=own, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            pytest.skip(f"npm can't fetch axe-core: {done.stderr.strip()[-200:]}")
        with tarfile.open(Path(own) / f"axe-core-{VERSION}.tgz") as tar:
            packed = tar.extractfile("package/axe.min.js")
            assert packed is not None
            whole = Path(own) / script.name
            whole.write_bytes(packed.read())
        os.replace(whole, script)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_violation_on_any_tab(open_page, axe, theme):
    page = open_page(path=f"?__theme={theme}")
    page.evaluate(axe)
    names = page.get_by_role("tab").all_inner_texts()
    assert names, "the page has no tabs"
    found = []
    for name in names:
        tab = page.get_by_role("tab", name=name, exact=True)
        tab.click()
        page.locator(".ez-slot[data-ready]:visible").first.wait_for()
        found += violations(page, name)
        if name == "Learn":
            chapters = page.get_by_role("navigation", name="Chapters").get_by_role("button")
            for number in range(1, chapters.count()):
                before = page.locator(".ez-chapter > h2").inner_text()
                chapters.nth(number).click()
                expect(page.locator(".ez-chapter > h2")).not_to_have_text(before)
                found += violations(page, f"Learn {number + 1}")
    assert not found, "\n".join(found)


def violations(page, where: str) -> list[str]:
    """A line for each that is serious or critical."""
    results = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{where}: {each['id']} ({each['impact']}) × {len(each['nodes'])}: "
        + "; ".join(n["html"][:120] for n in each["nodes"][:4])
        for each in results["violations"]
        if each["impact"] in ("serious", "critical")
    ]
