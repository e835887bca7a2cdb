"""Options that several verbs share."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from easd_viz.trace import Config

DEFAULTS = Config()


def add_gate(parser: argparse.ArgumentParser, *, default: bool = True) -> None:
    """The gate's knobs. With ``default=False`` a knob that is not given is None: "as recorded"."""
    knobs = parser.add_argument_group("gate")

    def add(flag: str, name: str, kind: Any, metavar: str, text: str) -> None:
        value = getattr(DEFAULTS, name)
        shown = f"{text} (default {value})" if default else f"{text} (default: as recorded)"
        knobs.add_argument(*flag.split(), dest=name, type=kind, metavar=metavar, default=value if default else None, help=shown)

    add("--draft-threshold", "draft_threshold", float, "H", "tau_draft, nats; inf closes the gate")
    add("--target-threshold", "target_threshold", float, "H", "tau_target, nats; inf closes the gate")
    add("--overlap", "overlap_threshold", float, "R", "rho, from 0 to 1")
    add("-k", "k", int, "N", "length of the compared top-k lists, 1 to 20")
    knobs.add_argument(
        "--resample",
        choices=("target", "exclude"),
        default=DEFAULTS.resample if default else None,
        help=f"where a gated token's replacement comes from (default {DEFAULTS.resample if default else ': as recorded'})",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """What decides a run apart from the gate."""
    run = parser.add_argument_group("run")
    run.add_argument("--mode", choices=("easd", "sd", "target", "draft"), default=DEFAULTS.mode, help=f"default {DEFAULTS.mode}")
    numbers: tuple[tuple[str, str, type, str, str], ...] = (
        ("--gamma", "gamma", int, "N", "tokens drafted per round, 1 to 16"),
        ("--temperature", "temperature", float, "T", "0 is greedy"),
        ("--top-k", "top_k", int, "N", "the sampler's top-k, 0 is off"),
        ("--top-p", "top_p", float, "P", "the sampler's top-p, 1 is off"),
        ("--max-new-tokens", "max_new_tokens", int, "N", "length limit of the answer"),
        ("--seed", "seed", int, "N", "of all draws"),
    )
    for flag, name, kind, metavar, text in numbers:
        value = getattr(DEFAULTS, name)
        run.add_argument(flag, dest=name, type=kind, metavar=metavar, default=value, help=f"{text} (default {value})")


def add_pair(parser: argparse.ArgumentParser) -> None:
    pair = parser.add_argument_group("pair")
    pair.add_argument("--pair", default="demo", help='"demo", or DRAFT,TARGET: hub ids or folders (default demo)')
    pair.add_argument("--dtype", choices=("auto", "float32", "bfloat16", "float16"), default="auto", help="default auto")
    pair.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default auto)")


def config_of(args: argparse.Namespace) -> Config:
    """The config that the options describe (raises TraceError where one is out of range)."""
    names = {f.name for f in fields(Config)} - {"extra"}
    return Config(**{name: getattr(args, name) for name in names})
