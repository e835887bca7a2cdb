"""A run with its text: wraps the engine's steps into a growing trace. The one way in which UI, CLI and tests run a pair."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from easd_viz import __version__
from easd_viz.trace import (
    Config,
    Emitted,
    Header,
    Parent,
    Prompt,
    Step,
    Token,
    TopEntry,
    Trace,
)

if TYPE_CHECKING:
    from easd_viz.models import Pair, Tokenizer


def encode_prompt(pair: Pair, text: str, chat_template: bool = True) -> Prompt:
    """The prompt as token ids; the chat template is applied where it is wanted and the tokenizer has one."""
    applied = chat_template and pair.tokenizer.has_chat_template
    return Prompt(text, tuple(pair.tokenizer.encode(text, applied)), applied)


def record(
    pair: Pair,
    prompt: Prompt,
    config: Config,
    *,
    resume: Sequence[Step] = (),
    parent: Parent | None = None,
) -> Iterator[Trace]:
    """Run and record: first the trace with the resumed steps once the caches are filled, then one more step each time.

    The last trace has its footer. To stop, ask no more and close the trace with ``Trace.finished``. A branch names its parent,
    whose forced verdicts are carried out. Raises EngineError and the models' own errors.
    """
    from easd_viz.engine import decode

    header = _header(pair, prompt, config, parent)
    decoding = decode(pair, prompt.token_ids, config, resume, {} if parent is None else parent.forced)
    trace = Trace(replace(header, extra={**header.extra, "prefill_ms": decoding.prefill_ms}), tuple(resume), None)
    yield trace
    for step in decoding:
        trace = replace(trace, steps=(*trace.steps, with_text(step, pair.tokenizer)))
        if decoding.stop_reason is None:
            yield trace
    assert decoding.stop_reason is not None
    yield trace.finished(decoding.stop_reason)


def _header(pair: Pair, prompt: Prompt, config: Config, parent: Parent | None) -> Header:
    return Header(
        app_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        draft_model=None if config.mode == "target" else pair.draft.info(),
        target_model=None if config.mode == "draft" else pair.target.info(),
        tokenizer={"fingerprint": pair.tokenizer.fingerprint, "eos_token_ids": sorted(pair.eos_token_ids)},
        prompt=prompt,
        config=config,
        versions={name: version(name) for name in ("torch", "transformers")},
        parent=parent,
        extra={"pair": pair.id},
    )


def with_text(step: Step, tokenizer: Tokenizer) -> Step:
    """The engine's step with the texts of all its tokens; what attaching them takes counts as recording."""
    started = time.perf_counter()
    emitted = None if step.emitted is None else _emitted_text(step.emitted, tokenizer)
    drafted = tuple(_token_text(t, tokenizer) for t in step.drafted)
    spent = (time.perf_counter() - started) * 1e3
    return replace(step, drafted=drafted, emitted=emitted, record_ms=step.record_ms + spent)


def _token_text(token: Token, tokenizer: Tokenizer) -> Token:
    text, raw = tokenizer.piece(token.token_id)
    target_top = None if token.target_top is None else _top_text(token.target_top, tokenizer)
    return replace(token, text=text, bytes=raw, draft_top=_top_text(token.draft_top, tokenizer), target_top=target_top)


def _emitted_text(emitted: Emitted, tokenizer: Tokenizer) -> Emitted:
    text, raw = tokenizer.piece(emitted.token_id)
    return replace(emitted, text=text, bytes=raw)


def _top_text(entries: tuple[TopEntry, ...], tokenizer: Tokenizer) -> tuple[TopEntry, ...]:
    return tuple([(i, tokenizer.piece(i)[0], prob) for i, _, prob in entries])
