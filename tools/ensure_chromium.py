"""See to a Chromium for the browser tests: one already there, else Debian's package (as root), else Playwright's download."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """The path of a Chromium that can be started, or None."""
    named = os.environ.get("EASD_VIZ_CHROMIUM")
    if named:
        return named if Path(named).exists() else None
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    return _of_playwright()


def _of_playwright() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        done = subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            check=False,
            stdout=subprocess.DEVNULL,
        )
        if done.returncode == 0:
            return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


def main() -> int:
    if find() is None:
        install()
    path = find()
    if path is None:
        print(
            "no Chromium was found and none could be installed; install one and set EASD_VIZ_CHROMIUM to its path",
            file=sys.stderr,
        )
        return 1
    print(f"Chromium: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
