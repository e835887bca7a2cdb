"""Text to token ids and back, byte for byte. A user's text is text: control tokens typed into it never act as such."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from easd_viz.models.errors import ModelError, first_line

SENTINEL = "QzSentinelTextZq"
"""Stands for the user's text while the chat template is rendered; no whitespace at its ends, so that trimming leaves it whole."""

BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")
"""A sentencepiece byte-fallback token."""

WORD_START = "▁"
"""Sentencepiece's sign for a space."""


class Tokenizer:
    """A transformers tokenizer, as much of it as the app needs. Safe to share between threads."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._added: dict[int, str] = {i: t.content for i, t in tokenizer.added_tokens_decoder.items()}
        self._control = _control_ids(tokenizer)
        self.has_chat_template = bool(tokenizer.chat_template)
        self.eos_token_id: int | None = tokenizer.eos_token_id
        self._known_pieces: dict[int, tuple[str, str | None]] = {}

    @cached_property
    def pieces(self) -> dict[int, str]:
        """The vocabulary: id -> the tokenizer's own string for it."""
        return {i: token for token, i in self._tokenizer.get_vocab().items()}

    @cached_property
    def fingerprint(self) -> str:
        """sha256 (hex) over the id -> token map and the chat template: equal where two runs' token ids mean the same."""
        content = json.dumps([sorted(self.pieces.items()), self._tokenizer.chat_template or ""], ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    # ---- text to ids -------------------------------------------------------------------------------------

    def encode(self, text: str, chat_template: bool) -> list[int]:
        """The prompt's token ids: the text as the user's message, or (``chat_template`` false) raw, after the usual first token.

        On text without control tokens this equals transformers' own result. Control tokens in the text (``<|im_end|>``) are
        encoded as the characters they are. Raises ModelError where there is no chat template or it can't take the text.
        """
        with self._lock:
            return self._encode_chat(text) if chat_template else self._first_ids + self._encode_text(text)

    @cached_property
    def _first_ids(self) -> list[int]:
        """What the tokenizer puts before any text (a begin-of-text token, mostly)."""
        bare, full = self._ids("a"), self._tokenizer("a", add_special_tokens=True)["input_ids"]
        starts = [i for i in range(len(full)) if full[i : i + len(bare)] == bare]
        return full[: starts[0]] if starts else []

    def _ids(self, text: str, *, as_text: bool = False) -> list[int]:
        return self._tokenizer(text, add_special_tokens=False, split_special_tokens=as_text)["input_ids"]  # type: ignore[no-any-return]

    def _encode_text(self, text: str) -> list[int]:
        """Ids of a text without a single control token: where one comes out all the same, the text is cut inside it."""
        if not text:
            return []
        ids = self._ids(text, as_text=True)
        found = next((i for i in ids if i in self._control), None)
        if found is None:
            return ids
        content = self._added.get(found) or self.piece(found)[0]
        at = text.find(content)
        if at < 0 or len(content) < 2:
            raise ModelError(f"the text holds {content!r}, which this tokenizer can only read as a control token; take it out")
        return self._encode_text(text[: at + 1]) + self._encode_text(text[at + 1 :])

    def _encode_chat(self, text: str) -> list[int]:
        whole = self._render(text)
        ids = self._ids(whole)
        around = self._render(SENTINEL)
        if self._controls(ids) == self._controls(self._ids(around)):
            return ids  # the text brought no control token with it: exactly what transformers does
        before, found, after = around.partition(SENTINEL)
        if not found or SENTINEL in after or not (whole.startswith(before) and whole.endswith(after)):
            raise ModelError(
                "the text holds control tokens, and this model's chat template gives no place where they would be plain text; "
                "take them out or switch the chat template off"
            )
        head, lead = self._cut_behind_last_control(before)
        trail, tail = self._cut_before_first_control(after)
        middle = lead + whole[len(before) : len(whole) - len(after)] + trail
        return self._ids(head) + self._encode_text(middle) + self._ids(tail)

    def _render(self, text: str) -> str:
        """The chat template around one user message, up to where the model answers."""
        if not self.has_chat_template:
            raise ModelError("this model's tokenizer has no chat template; switch the chat template off to send raw text")
        messages = [{"role": "user", "content": text}]
        try:
            return self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)  # type: ignore[no-any-return]
        except Exception as error:  # templates are programs of their own; whatever they raise is about the template
            raise ModelError(
                f"the model's chat template failed on this text ({first_line(error)}); switch the chat template off"
            ) from error

    def _controls(self, ids: Sequence[int]) -> list[int]:
        return [i for i in ids if i in self._control]

    @cached_property
    def _control_pattern(self) -> re.Pattern[str]:
        strings = sorted((self._added[i] for i in self._control if i in self._added), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, strings)) or r"(?!)")

    def _cut_behind_last_control(self, text: str) -> tuple[str, str]:
        matches = list(self._control_pattern.finditer(text))
        end = matches[-1].end() if matches else 0
        return text[:end], text[end:]

    def _cut_before_first_control(self, text: str) -> tuple[str, str]:
        match = self._control_pattern.search(text)
        start = match.start() if match else len(text)
        return text[:start], text[start:]

    # ---- ids to text -------------------------------------------------------------------------------------

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of these ids, control tokens included as they are written; ids beyond the tokenizer give a placeholder."""
        return b"".join(self.piece_bytes(i) for i in token_ids).decode(errors="replace")

    def piece(self, token_id: int) -> tuple[str, str | None]:
        """One token's text, and its bytes in hex where they are not valid UTF-8 alone (the text then has U+FFFD in their place).

        Ids beyond the tokenizer (padding rows) give a placeholder such as ``⟨49153⟩``.
        """
        known = self._known_pieces.get(token_id)
        if known is None:
            raw = self.piece_bytes(token_id)
            try:
                known = raw.decode(), None
            except UnicodeDecodeError:
                known = raw.decode(errors="replace"), raw.hex()
            self._known_pieces[token_id] = known
        return known

    def piece_bytes(self, token_id: int) -> bytes:
        """One token's bytes: those of the pieces of ``encode(text, False)``, joined, are the text's own.

        Tokenizers that put a space before the first word (Llama 2) show that space here.
        """
        if token_id in self._added:
            return self._added[token_id].encode()
        token = self.pieces.get(token_id)
        if token is None:
            return f"⟨{token_id}⟩".encode()
        if self._is_byte_level:
            return b"".join(bytes([BYTE_OF_CHAR[c]]) if c in BYTE_OF_CHAR else c.encode() for c in token)
        if self._is_sentencepiece:
            byte = BYTE_PIECE.match(token)
            return bytes([int(byte[1], 16)]) if byte else token.replace(WORD_START, " ").encode()
        return str(self._tokenizer.convert_tokens_to_string([token])).encode()

    @cached_property
    def _decoder(self) -> str:
        """How the fast tokenizer turns tokens back into text, as JSON; empty for a slow one."""
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        return json.dumps(json.loads(backend.to_str()).get("decoder"), ensure_ascii=False) if backend is not None else ""

    @cached_property
    def _is_byte_level(self) -> bool:
        """GPT-2's scheme: each character of a token stands for one byte."""
        return '"ByteLevel"' in self._decoder

    @cached_property
    def _is_sentencepiece(self) -> bool:
        """Words begin with ``▁``; bytes without a token of their own are ``<0xHH>``."""
        return '"Metaspace"' in self._decoder or WORD_START in self._decoder or '"ByteFallback"' in self._decoder


def _control_ids(tokenizer: Any) -> frozenset[int]:
    """Ids that act rather than stand for text: special tokens, ``<|…|>`` ones, and added ones that the chat template writes."""
    template = str(tokenizer.chat_template or "")
    ids = set(tokenizer.all_special_ids)
    for i, token in tokenizer.added_tokens_decoder.items():
        content = token.content.strip()
        looks_it = content.startswith("<|") and content.endswith("|>")
        if token.special or looks_it or (len(content) > 1 and content in template):
            ids.add(i)
    return frozenset(ids)


def _gpt2_bytes() -> dict[str, int]:
    """GPT-2's alphabet, character -> byte: printable Latin-1 stands for itself, the 68 other bytes for U+0100 onwards."""
    themselves = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [b for b in range(256) if b not in set(themselves)]
    return {chr(b): b for b in themselves} | {chr(256 + n): b for n, b in enumerate(others)}


BYTE_OF_CHAR = _gpt2_bytes()
