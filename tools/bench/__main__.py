"""``make bench``: measures everything that has a goal, prints the table and writes docs/BENCHMARKS.md.

Run it on a machine that does nothing else. ``PYTHONPATH=.:tools python -m bench engine page lab`` chooses parts.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench import engine, lab, page
from bench.engine import Line

REPORT = Path(__file__).resolve().parents[2] / "docs" / "BENCHMARKS.md"


def machine() -> str:
    """Processor, cores, memory, versions."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        name = models[0] if models else name
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    libraries = ", ".join(f"{package} {version(package)}" for package in ("torch", "transformers", "gradio", "plotly"))
    return f"{name}, {os.cpu_count()} cores, {memory:.0f} GiB; Python {platform.python_version()}, {libraries}"


def lab_lines() -> Iterator[Line]:
    found = lab.measure()
    detail = f"{found['drafted']:.0f} drafted tokens in 100 traces, {found['megabytes']:.0f} MB; CPU time"
    yield from [
        Line("threshold lab: reading 100 traces", f"{found['read']:.2f} s", f"≤ {lab.LIMITS['read']:g} s", detail),
        Line("threshold lab: a 50 × 50 sweep", f"{found['sweep']:.3f} s", f"≤ {lab.LIMITS['sweep']:g} s", detail),
        Line("threshold lab: peak memory", f"{found['memory']:.2f} GB", f"≤ {lab.LIMITS['memory']:g} GB", "of the process"),
    ]


PARTS: dict[str, Callable[[], Iterator[Line]]] = {"lab": lab_lines, "engine": engine.measure, "page": page.measure}


HEAD = "| what | measured | goal | |\n| --- | --- | --- | --- |"


def row(line: Line) -> str:
    return f"| {line.what} | {line.value} | {line.goal} | {line.detail} |"


def main(argv: list[str]) -> int:
    chosen = argv or list(PARTS)
    if unknown := set(chosen) - set(PARTS):
        print(f"unknown part {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}", file=sys.stderr)
        return 2
    print(machine(), HEAD, sep="\n\n")
    rows = []
    for name in chosen:
        for line in PARTS[name]():
            rows.append(row(line))
            print(rows[-1], flush=True)
    if set(chosen) == set(PARTS):
        table = "\n".join([HEAD, *rows])
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(f"""# Benchmarks

Made by `make bench` on {datetime.now(UTC):%Y-%m-%d}: the demo pair in float32, sides alternating in one process, medians of
{engine.RUNS} runs after a warm-up. Ratios travel between machines better than absolute figures do.

{machine()}

{table}
""")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
