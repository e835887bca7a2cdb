"""The model card: written from the logs of the runs and from measured figures, never by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HEAD = """---
license: apache-2.0
---

# A draft model for {target}

{layers} layers, {trained:.1f} million trained numbers: a draft for speculative decoding with {target} (Apache-2.0) as its
target. It is distilled from that target alone: every answer that it learnt from was written by the target, and none of the
prompts that the figures below come from was trained on.

| file | content |
| --- | --- |
| `config.json` | a transformers LlamaConfig |
| `model-*.safetensors` | bf16: layers, final norm{head_rows}, `head_token_ids`; each below 10 MB |
| `model.safetensors.index.json` | which tensor is in which shard |

**Loading.** Token embeddings are not in the files: they are the target's, for input and output alike. The head covers only
the {covered:,} token ids in `head_token_ids` (int32), with the rows of the target's tied embedding there; every other id gets the
logit -10000, which softmax turns into exactly 0 (a reduced draft vocabulary, as in FR-Spec, arXiv 2502.14856). A folder without
`head_token_ids` uses the whole head. In EASD Viz `--pair demo` does this.
"""


EARLIER = "The draft that stage 1 started from"


def read_log(path: Path) -> list[dict[str, Any]]:
    """The events of a run's log; none where there is no log."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table; numbers to the right."""
    marks = ["---:" if rows and isinstance(rows[0][i], (int, float)) else "---" for i in range(len(header))]
    lines: list[Sequence[Any]] = [header, marks, *rows]
    return "\n".join("| " + " | ".join(_cell(c) for c in line) + " |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def data_section(run: Path, extra: str) -> str:
    """How much the target wrote, by kind of prompt."""
    shards = [e for e in read_log(run / "log.jsonl") if e["event"] == "shard"]
    kinds: Counter[str] = Counter()
    for shard in shards:
        kinds.update(shard["by_kind"])
    rows = [[kind, count, 100 * count / kinds.total()] for kind, count in kinds.most_common()]
    conversations, seconds = sum(s["conversations"] for s in shards), sum(s["seconds"] for s in shards)
    text = (
        f"{conversations:,} conversations, {kinds.total():,} positions sampled from the target ({seconds / 60:.0f} minutes of "
        "workers), mostly at temperature 0.7, some at 1.0, 0.9 and 0. Prompts are templates times topics, questions over "
        "passages that the target wrote in earlier shards, and bare user turns that it filled in itself "
        f"(`tools/distill/prompts.toml`); `extra` are {extra or 'questions from a file given with `--extra-prompts`'}."
    )
    return f"## Training text\n\n{text}\n\n{table(['kind', 'positions', '%'], rows)}\n"


def training_section(stages: Sequence[Path]) -> str:
    """Each stage's settings and course."""
    parts = ["## Training\n"]
    for number, out in enumerate(stages, start=1):
        events = read_log(out / "log.jsonl")
        start = next(e for e in events if e["event"] == "start")
        done = [e for e in events if e["event"] == "done"]
        course = [e for e in events if e["event"] == "progress"]
        steps = course[-1]["step"] if course else 0
        end = f", held-out overlap {done[-1]['held_out_overlap']:.3f} (n = {done[-1]['held_out_positions']:,})" if done else ""
        where = f"{start['threads']} thread(s) on {start['device']}"
        spent = f"{course[-1]['spent'] / 60:.0f} minutes" if course else ""
        parts.append(f"Stage {number}: {start['positions']:,} positions, {steps:,} steps, {spent}, {where}{end}.")
        settings = {**start["settings"], "start": Path(start["settings"]["start"]).name}
        parts.append("\n```json\n" + json.dumps(settings) + "\n```\n")
        wanted = [course[round(i * (len(course) - 1) / 7)] for i in range(8)] if len(course) >= 8 else course
        rows = [[e["step"], e["epoch"], float(e["loss"]), float(e["overlap"])] for e in wanted]
        parts.append(table(["step", "epoch", "loss", "overlap with the target, training text"], rows) + "\n")
        sharpened = [e for e in events if e["event"] == "sharpened"]
        if sharpened:
            tried = ", ".join(f"{factor}: {value:.3f}" for factor, value in sharpened[-1]["overlap_by_factor"].items())
            parts.append(f"Logits were then scaled by the factor with the most overlap on held-out text ({tried}).\n")
    return "\n".join(parts)


def figures_section(files: Sequence[Path]) -> str:
    """Tables from ``python -m easd_viz overlap --json``; each file holds the command and what it printed."""
    parts = ["## Figures\n"]
    for path in files:
        measured = json.loads(path.read_text(encoding="utf-8"))
        parts.append(f"`{measured['command']}`\n")
        if "note" in measured:
            parts.append(measured["note"] + "\n")
        found = measured.get("result")
        if found:
            kinds = {"all": found["all"], **found["by_category"]}
            rows = [[name, float(r["beta"]), float(r["greedy"]), r["n"]] for name, r in kinds.items()]
            parts.append(table(["prompts", "mean Σ min(p, q)", "likeliest tokens agree", "n"], rows) + "\n")
            parts.append(
                f"One draft step {found['draft_step_ms']:.1f} ms, one target step {found['target_step_ms']:.1f} ms "
                f"({found['dtype']}, {found['device']}): c = {found['c']:.3f}.\n"
            )
    return "\n".join(parts)


def section_of(path: Path, title: str) -> str:
    """The text below a second-level heading of a Markdown file."""
    _, found, rest = path.read_text(encoding="utf-8").partition(f"## {title}\n")
    if not found:
        raise SystemExit(f"{path} has no section '## {title}'")
    return rest.partition("\n## ")[0].strip()


def earlier_section(start_card: Path) -> str:
    """What the card of the draft that the first stage started from says of its own making; its own start's below it."""
    text = start_card.read_text(encoding="utf-8")
    told = [f"### {title}, before\n\n{section_of(start_card, title)}\n" for title in ("Training text", "Training")]
    if f"## {EARLIER}\n" in text:
        told.append(section_of(start_card, EARLIER) + "\n")
    return f"## {EARLIER}\n\n" + "\n".join(told)


def write(
    to: Path,
    run: Path,
    stages: Sequence[Path],
    figures: Sequence[Path],
    notes: Path | None,
    facts: dict[str, Any],
    start_card: Path | None = None,
) -> None:
    """Writes README.md into a draft folder. ``facts``: what ``HEAD`` leaves open. ``start_card`` may be that README.md itself."""
    head = HEAD.format(**facts)
    sections = [head, figures_section(figures), data_section(run, facts["extra"]), training_section(stages)]
    if start_card is not None:
        sections.append(earlier_section(start_card))
    if notes is not None:
        sections.append(f"## What was tried\n\n{section_of(notes, 'Draft model')}\n")
    sections.append("Made by `tools/distill_draft.py` (generate, train, export); this card is written by its last step.\n")
    (to / "README.md").write_text("\n".join(s.rstrip() + "\n" for s in sections), encoding="utf-8")
