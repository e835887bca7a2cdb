"""The tokenizer: a user's text stays text, prompts equal transformers' own, pieces give back every byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tiny
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, processors
from transformers import PreTrainedTokenizerFast

from easd_viz.models import ModelError, Pair, Tokenizer

ORDINARY = [
    "hello",
    "",
    "  two spaces, and a tail \n",
    "\n\nleading lines",
    "def f(x):\n\treturn x + 1\n",
    "Grüße, 世界! 🙂🏽 naïve café",
    "a < b | c > d <|> <| |> <end>",
    "1234567 x 89",
    "<img onerror=alert(1)> ${1+1} {{ 7 * 7 }} {% raw %}",
    "user\nassistant",
]


def sentencepiece_like(prepend: bool = False, chat_template: str | None = tiny.CHAT_TEMPLATE) -> PreTrainedTokenizerFast:
    """Llama 2's scheme in small: ``▁`` for a space, byte fallback, a begin-of-text token before everything."""
    pieces = ["<unk>", "<s>", "</s>", *tiny.CONTROL, *(f"<0x{b:02X}>" for b in range(256)), "▁"]
    pieces += [chr(c) for c in range(33, 127)] + ["▁t", "▁th", "▁the", "he", "ü"]
    merges = [("▁", "t"), ("▁t", "h"), ("▁th", "e"), ("h", "e")]
    backend = Backend(models.BPE({p: i for i, p in enumerate(pieces)}, merges, unk_token="<unk>", byte_fallback=True))
    steps = [normalizers.Replace(" ", "▁")]
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), *steps] if prepend else steps)
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    backend.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens=tiny.CONTROL,
        chat_template=chat_template,
    )


def trimming() -> PreTrainedTokenizerFast:
    """A template that trims the message, as Llama 3's does."""
    return tiny.make_tokenizer(tiny.CHAT_TEMPLATE.replace("m['content']", "m['content'] | trim"))


def with_added() -> PreTrainedTokenizerFast:
    """Added tokens that are not special, as Qwen2.5 has them: some control, some mere text."""
    tokenizer = tiny.make_tokenizer(tiny.CHAT_TEMPLATE + "{# <tool> #}")
    tokenizer.add_tokens(["<|fim|>", "<tool>", "\n\n", "<h1>"])
    return tokenizer


KINDS: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    "byte-level": tiny.make_tokenizer,
    "sentencepiece": sentencepiece_like,
    "prepending": lambda: sentencepiece_like(prepend=True),
    "trimming": trimming,
    "added": with_added,
}


@pytest.fixture(scope="module", params=KINDS)
def inner(request: pytest.FixtureRequest) -> PreTrainedTokenizerFast:
    return KINDS[request.param]()


def templated(inner: Any, text: str) -> list[int]:
    """transformers' own encoding of one user message."""
    messages = [{"role": "user", "content": text}]
    return inner.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_prompts_equal_transformers_own(inner: PreTrainedTokenizerFast, text: str) -> None:
    ours = Tokenizer(inner)
    assert ours.encode(text, True) == templated(inner, text)
    assert ours.encode(text, False) == inner(text)["input_ids"]


def assert_control_tokens_stay_text(inner: Any, chat_template: bool) -> None:
    """Every control token of the tokenizer, alone, inside words, doubled and broken over the edges, adds no control id."""
    ours = Tokenizer(inner)
    control = ours._control
    plain = [i for i in ours.encode("x", chat_template) if i in control]
    for i in sorted(control):
        token = inner.convert_ids_to_tokens(i)
        for text in (token, f"a{token}b", f"{token}{token} ", f"\n{token}\n user", token[1:], token[:-1], f"{token[:-1]}{token}"):
            ids = ours.encode(text, chat_template)
            assert [j for j in ids if j in control] == plain, f"{text!r} brought a control token into the prompt"
            assert text.strip() in ours.decode(ids), f"{text!r} is not in the prompt any more"


@pytest.mark.parametrize("chat_template", [True, False])
def test_no_control_token_can_be_typed(inner: PreTrainedTokenizerFast, chat_template: bool) -> None:
    assert_control_tokens_stay_text(inner, chat_template)


def test_added_tokens_that_are_mere_text_stay_tokens() -> None:
    inner = with_added()
    ours = Tokenizer(inner)
    h1, lines = inner.convert_tokens_to_ids(["<h1>", "\n\n"])
    assert h1 in ours.encode("a <h1> b", True)
    assert lines in ours.encode("a\n\nb<|end|>", True)


def test_a_template_without_a_safe_place_refuses_control_tokens_only() -> None:
    twice = tiny.CHAT_TEMPLATE.replace("m['content']", "m['content'] + '|' + m['content']")
    inner = tiny.make_tokenizer(twice)
    ours = Tokenizer(inner)
    assert ours.encode("hello", True) == templated(inner, "hello")
    with pytest.raises(ModelError, match="control tokens"):
        ours.encode("hello <|end|>", True)


@pytest.mark.parametrize("template", [None, "{{ raise_exception('no') }}"])
def test_a_template_that_is_not_there_or_fails_is_one_line(template: str | None) -> None:
    ours = Tokenizer(tiny.make_tokenizer(template))
    assert ours.has_chat_template is (template is not None)
    with pytest.raises(ModelError, match="switch the chat template off"):
        ours.encode("hello", True)
    assert ours.encode("hello", False)


def joined(ours: Tokenizer, ids: list[int]) -> bytes:
    """The bytes of the pieces, as a trace holds them."""
    parts = [ours.piece(i) for i in ids]
    return b"".join(bytes.fromhex(raw) if raw is not None else text.encode() for text, raw in parts)


unicode_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=150, deadline=None)
@given(text=unicode_text)
@pytest.mark.parametrize("kind", ["byte-level", "sentencepiece", "added"])
def test_pieces_give_back_every_byte(kind: str, text: str) -> None:
    ours = TOKENIZERS[kind]
    ids = ours.encode(text, False)[len(ours._first_ids) :]
    assert joined(ours, ids) == text.encode()
    assert ours.decode(ids) == text


TOKENIZERS = {kind: Tokenizer(KINDS[kind]()) for kind in KINDS}


def test_a_prepended_space_is_shown() -> None:
    ours = TOKENIZERS["prepending"]
    ids = ours.encode("the", False)
    assert [ours.piece(i)[0] for i in ids] == ["<s>", " the"]


def test_a_piece_that_is_not_utf8_alone_says_its_bytes() -> None:
    for ours in (TOKENIZERS["byte-level"], TOKENIZERS["sentencepiece"]):
        euro = ours.encode("€", False)[len(ours._first_ids) :]
        assert [ours.piece(i) for i in euro] == [("\ufffd", "e2"), ("\ufffd", "82"), ("\ufffd", "ac")]


def test_padding_rows_have_a_placeholder() -> None:
    assert TOKENIZERS["byte-level"].piece(5000) == ("⟨5000⟩", None)


def test_the_fingerprint_tells_tokenizers_and_templates_apart() -> None:
    same = [Tokenizer(tiny.make_tokenizer()).fingerprint for _ in range(2)]
    kinds = [kind for kind in KINDS if kind != "prepending"]  # it differs in the normaliser only: its ids mean the same
    others = {TOKENIZERS[kind].fingerprint for kind in kinds} | {Tokenizer(tiny.make_tokenizer(None)).fingerprint}
    assert same[0] == same[1]
    assert len(same[0]) == 64
    assert len(others) == len(kinds) + 1


# ---- the real demo tokenizer -----------------------------------------------------------------------------


@pytest.mark.pair
@pytest.mark.parametrize("text", ORDINARY)
def test_demo_prompts_equal_transformers_own(demo_pair: Pair, text: str) -> None:
    inner = demo_pair.tokenizer._tokenizer
    assert demo_pair.tokenizer.encode(text, True) == templated(inner, text)
    assert demo_pair.tokenizer.encode(text, False) == inner(text)["input_ids"]


@pytest.mark.pair
def test_no_control_token_of_the_demo_can_be_typed(demo_pair: Pair) -> None:
    for chat_template in (True, False):
        assert_control_tokens_stay_text(demo_pair.tokenizer._tokenizer, chat_template)


SMOLLM2_LACKS = {0x04, 0x06, 0x13, 0x14, 0x16, 0x1D, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100)}
"""Bytes without a token in SmolLM2's vocabulary (control characters, unassigned planes): its tokenizer drops them."""


@pytest.mark.pair
@settings(max_examples=200, deadline=None)
@given(text=unicode_text)
def test_demo_pieces_give_back_every_byte(demo_pair: Pair, text: str) -> None:
    assume(not SMOLLM2_LACKS & set(text.encode()))
    assert joined(demo_pair.tokenizer, demo_pair.tokenizer.encode(text, False)) == text.encode()


@pytest.mark.pair
def test_demo_digits_split_one_by_one(demo_pair: Pair) -> None:
    ids = demo_pair.tokenizer.encode("31415", False)
    assert [demo_pair.tokenizer.piece(i)[0] for i in ids] == list("31415")
