"""Finds, checks and loads a draft/target pair, and hides its KV caches behind prefill / forward / rollback.

The only package of ours that imports transformers, and only inside functions: importing it is quick and needs neither torch
nor transformers. Everything that can go wrong for a user raises ``ModelError``, one line each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from easd_viz.models.errors import ModelError
from easd_viz.models.progress import OnProgress, Progress, silent
from easd_viz.models.session import Model, Session
from easd_viz.models.tokenizer import Tokenizer

__all__ = [
    "DEMO",
    "PRESETS",
    "Model",
    "ModelError",
    "Pair",
    "PairSpec",
    "Preset",
    "Progress",
    "Session",
    "Tokenizer",
    "load_pair",
]


@dataclass(frozen=True)
class PairSpec:
    """The names of a draft and a target: hub ids (optionally ``id@revision``), local folders, or ``demo`` for the demo's own."""

    draft: str
    target: str

    @property
    def id(self) -> str:
        """``demo``, or ``DRAFT,TARGET``: what ``parse`` takes."""
        return self.target if self.draft == self.target == "demo" else f"{self.draft},{self.target}"

    @classmethod
    def parse(cls, text: str) -> PairSpec:
        """``demo`` or ``DRAFT,TARGET``."""
        if text.strip() == "demo":
            return cls("demo", "demo")
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != 2 or not all(parts):
            raise ModelError(f"a pair is 'demo' or 'DRAFT,TARGET', two names with a comma between them; it is {text!r}")
        return cls(*parts)


DEMO = PairSpec("demo", "demo")


@dataclass(frozen=True)
class Preset:
    """A pair to offer by name."""

    label: str
    spec: PairSpec


def _presets() -> tuple[Preset, ...]:
    def qwen(size: str) -> str:
        return f"Qwen/Qwen2.5-{size}-Instruct"

    def smol(size: str) -> str:
        return f"HuggingFaceTB/SmolLM2-{size}-Instruct"

    def llama(size: str) -> str:
        return f"meta-llama/Llama-3.2-{size}-Instruct"

    return (
        Preset("Demo: SmolLM2 135M with its own small draft", DEMO),
        *(Preset(f"Qwen2.5 0.5B → {size}", PairSpec(qwen("0.5B"), qwen(size))) for size in ("1.5B", "3B", "7B", "14B", "32B")),
        *(Preset(f"SmolLM2 135M → {size}", PairSpec(smol("135M"), smol(size))) for size in ("360M", "1.7B")),
        Preset("Llama 3.2 1B → 3B (gated)", PairSpec(llama("1B"), llama("3B"))),
    )


PRESETS = _presets()
"""The demo pair, then the families of DESIGN.md: the paper's own (Qwen2.5) first."""


@dataclass(frozen=True)
class Pair:
    """A draft and a target that share one token-id space, loaded."""

    id: str
    draft: Model
    target: Model
    tokenizer: Tokenizer
    vocab_size: int
    """The common prefix min(V_q, V_p) of the two models' logit rows."""
    eos_token_ids: frozenset[int]
    """An emitted one of these ends the text."""
    context_length: int
    """Tokens, prompt included: the smaller of both models'."""


_lock = threading.RLock()
_loaded: dict[tuple[PairSpec, str, str], Pair] = {}


def load_pair(
    spec: PairSpec | str,
    *,
    dtype: str = "auto",
    device: str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> Pair:
    """The pair, checked and loaded; the last one is kept in the process and comes back at once. Safe to call from threads.

    ``dtype``: auto, float32, bfloat16, float16. ``device``: auto, cpu, cuda, mps. Raises ModelError, one line for the user.
    """
    from easd_viz.models.load import choose_device, choose_dtype

    spec = PairSpec.parse(spec) if isinstance(spec, str) else spec
    with _lock:
        device = choose_device(device)
        dtype = choose_dtype(dtype, device)
        key = (spec, dtype, device)
        if key not in _loaded:
            with _quiet():
                _loaded[key] = _load(spec, dtype, device, progress or silent)
        return _loaded[key]


def _load(spec: PairSpec, dtype: str, device: str, on_progress: OnProgress) -> Pair:
    """Names to files, files to checks, and only then the weights."""
    from easd_viz.models import checks, linear, load, sources

    target_source, draft_source = _find_target(spec.target, on_progress), _find_draft(spec.draft, on_progress)
    borrows = draft_source.repository is None and load.borrows_embedding(draft_source.folder)
    target_config, draft_config = checks.read_config(target_source), checks.read_config(draft_source)
    checks.check_architecture(target_source, target_config)
    checks.check_architecture(draft_source, draft_config)
    tokenizer = checks.read_tokenizer(target_source)
    draft_tokenizer = tokenizer if borrows else checks.read_tokenizer(draft_source)
    rows = min(_rows(target_config), _rows(target_config if borrows else draft_config))
    checks.check_vocabulary(draft_tokenizer, tokenizer, rows, draft_source.id, target_source.id)

    _loaded.clear()  # one pair at a time: its memory is needed for the next
    for source in (target_source, draft_source):
        checks.check_memory(source, sources.parameter_count(source), 4 if dtype == "float32" else 2, device)
        sources.fetch_weights(source, on_progress)
    on_progress(Progress("load", target_source.id, 0, None))
    target = load.load_model(target_source, target_config, dtype=dtype, device=device)
    on_progress(Progress("load", draft_source.id, 0, None))
    if borrows:
        draft = load.load_borrowing_draft(draft_source, draft_config, target)
    else:
        draft = load.load_model(draft_source, draft_config, dtype=dtype, device=device)
    linear.pack_linears(target.network, draft.network)
    return Pair(
        id=spec.id,
        draft=draft,
        target=target,
        tokenizer=tokenizer,
        vocab_size=rows,
        eos_token_ids=load.eos_token_ids(target.network, tokenizer),
        context_length=min(draft.context_length, target.context_length),
    )


def _rows(config: Any) -> int:
    return int(config.get_text_config().vocab_size)


def _find_target(name: str, on_progress: OnProgress) -> Any:
    from easd_viz.models import demo, sources

    if name != "demo":
        return sources.find(name, on_progress)
    return sources.Source(demo.TARGET_ID, demo.target_folder(on_progress), demo.WHEEL, None)


def _find_draft(name: str, on_progress: OnProgress) -> Any:
    from easd_viz.models import demo, load, sources

    if name != "demo":
        return sources.find(name, on_progress)
    return sources.Source(demo.DRAFT_ID, demo.DRAFT_FOLDER, load.content_revision(demo.DRAFT_FOLDER), None)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' progress bars and advice off the terminal; errors are ours to report."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()
