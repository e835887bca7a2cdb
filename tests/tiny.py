"""Tiny random pairs in a folder, so that ``load_pair("DRAFT,TARGET")`` works with no network and within a second."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, PreTrainedTokenizerFast, Qwen2Config

from easd_viz.models import PairSpec

Kind = Literal["llama", "gpt2", "qwen2"]

CONTROL = ["<|end|>", "<|start|>", "<|pad|>"]
"""The tiny tokenizer's special tokens, ids 0, 1, 2; ``<|end|>`` is the end of text."""

CHAT_TEMPLATE = (
    "{% for m in messages %}{{ '<|start|>' + m['role'] + '\n' + m['content'] + '<|end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start|>assistant\n' }}{% endif %}"
)

TEXT = [
    "the quick brown fox jumps over the lazy dog",
    "the draft proposes and the target decides",
    "a token is accepted or rejected",
]


def make_tokenizer(chat_template: str | None = CHAT_TEMPLATE, tokens: int = 300) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of at most ``tokens`` ids (3 special ones, 256 bytes, the rest merges)."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=tokens, special_tokens=CONTROL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>", bos_token="<|start|>", pad_token="<|pad|>", chat_template=chat_template
    )


def make_config(kind: Kind, vocab: int, context: int = 512, **changes: Any) -> Any:
    """A two-layer config with ``vocab`` logit rows; weights drawn wide, so that distributions are far from flat."""
    ids = {"bos_token_id": 1, "eos_token_id": 0, "pad_token_id": 2}
    if kind == "gpt2":
        return GPT2Config(
            vocab_size=vocab, n_positions=context, n_embd=32, n_layer=2, n_head=4, initializer_range=0.3, **ids | changes
        )
    make = {"llama": LlamaConfig, "qwen2": Qwen2Config}[kind]
    return make(
        vocab_size=vocab,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.3,
        tie_word_embeddings=False,
        **ids | changes,
    )


def make_model(config: Any, seed: int = 0) -> Any:
    """Random weights of a fixed seed; torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return AutoModelForCausalLM.from_config(config).eval()


def noisy_copy(model: Any, vocab: int, noise: float, seed: int = 1) -> Any:
    """A draft that often agrees: the same model with ``vocab`` rows and noise on every weight, ``noise`` times its spread."""
    config = copy.deepcopy(model.config)
    config.vocab_size = vocab
    twin = make_model(config, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for (_, new), (_, old) in zip(twin.named_parameters(), model.named_parameters(), strict=True):
            rows = min(new.shape[0], old.shape[0])
            spread = old.std() if old.numel() > 1 else old.abs()
            new[:rows] = old[:rows] + noise * spread * torch.randn(old[:rows].shape, generator=generator)
    return twin


def save(model: Any, tokenizer: PreTrainedTokenizerFast | None, folder: Path) -> str:
    """Write a model folder as a hub repository has it; its path."""
    model.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return str(folder)


def make_pair(
    tmp_path: Path,
    kind: Kind = "llama",
    draft_vocab: int = 320,
    target_vocab: int = 320,
    noise: float = 0.15,
    seed: int = 0,
    **changes: Any,
) -> PairSpec:
    """A target of ``kind`` and a noisy copy of it as its draft, saved under ``tmp_path``; ``changes`` go into both configs.

    The tokenizer has at most 300 ids, so the default 320 logit rows include padding rows.
    """
    tokenizer = make_tokenizer()
    target = make_model(make_config(kind, target_vocab, **changes), seed)
    draft = noisy_copy(target, draft_vocab, noise, seed + 1)
    return PairSpec(save(draft, tokenizer, tmp_path / f"{kind}-draft"), save(target, tokenizer, tmp_path / f"{kind}-target"))
