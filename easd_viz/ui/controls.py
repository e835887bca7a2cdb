"""The Run tab's left column: every knob with a line of help, and how they map to a ``Config`` and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import gradio as gr

from easd_viz.examples import EXAMPLES
from easd_viz.link import Settings
from easd_viz.models import PRESETS
from easd_viz.trace import Config, Trace
from easd_viz.ui.session import Wanted, pair_of

MODES = (("EASD", "easd"), ("SD", "sd"), ("Target", "target"), ("Draft", "draft"))
RESAMPLE = (("from the target", "target"), ("without the draft’s token", "exclude"))
OTHER_PAIR = "other"
MAX_ENTROPY = 8.0
"""Upper end of the threshold sliders, nats: above it hardly a token lies, though ln(vocabulary) is 10.8 for the demo pair."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A slider: what it says and how far it reaches. A run from the command line may lie beyond."""

    label: str
    low: float
    high: float
    step: float
    help: str


KNOBS: dict[str, Knob] = {
    "draft_threshold": Knob("τ draft, nats", 0, MAX_ENTROPY, 0.05, "the gate needs a draft this unsure…"),
    "target_threshold": Knob("τ target, nats", 0, MAX_ENTROPY, 0.05, "…a target this unsure…"),
    "overlap_threshold": Knob("ρ overlap", 0, 1, 0.05, "…and this share of the top k in common"),
    "k": Knob("k", 1, 20, 1, "length of the compared lists"),
    "gamma": Knob("γ drafted per round", 1, 16, 1, "how far the draft runs ahead"),
    "temperature": Knob("Temperature", 0, 2, 0.05, "0 is greedy"),
    "max_new_tokens": Knob("New tokens", 1, 1024, 1, "where the run ends at the latest"),
    "top_k": Knob("Sampler’s top-k", 0, 200, 1, "0 is off; not the gate’s k"),
    "top_p": Knob("Sampler’s top-p", 0.05, 1, 0.01, "1 is off"),
}
"""By config field."""


@dataclass(slots=True)
class Controls:
    """The components, by the name of what they set."""

    prompt: gr.Textbox
    chat_template: gr.Checkbox
    mode: gr.Radio
    draft_threshold: gr.Slider
    target_threshold: gr.Slider
    overlap_threshold: gr.Slider
    k: gr.Slider
    resample: gr.Radio
    gamma: gr.Slider
    temperature: gr.Slider
    top_k: gr.Slider
    top_p: gr.Slider
    max_new_tokens: gr.Slider
    seed: gr.Number
    pair: gr.Dropdown
    draft_id: gr.Textbox
    target_id: gr.Textbox
    dtype: gr.Dropdown
    device: gr.Dropdown

    def components(self) -> list[Any]:
        """In the order that ``wanted`` takes their values."""
        return [getattr(self, f.name) for f in fields(self)]

    def config_components(self) -> list[Any]:
        return [getattr(self, name) for name in CONFIG_FIELDS]


CONFIG_FIELDS = tuple(f.name for f in fields(Config) if f.name != "extra")


def wanted(*values: Any) -> Wanted:
    """The controls' values as one request; raises TraceError where they don't go together."""
    named = dict(zip((f.name for f in fields(Controls)), values, strict=True))
    template, pair = bool(named["chat_template"]), chosen_pair(named)
    return Wanted(named["prompt"], template, config_of(named), pair, named["dtype"], named["device"])


def config_of(named: Mapping[str, Any]) -> Config:
    """A config from the values of its controls, by name (raises TraceError where they don't go together)."""
    whole = {"gamma", "top_k", "k", "max_new_tokens", "seed"}
    knobs: dict[str, Any] = {name: int(named[name] or 0) if name in whole else _plain(named[name]) for name in CONFIG_FIELDS}
    return Config(**knobs)


def chosen_pair(named: Mapping[str, Any]) -> str:
    """The chosen pair, as ``PairSpec.parse`` takes it."""
    return str(named["pair"]) if named["pair"] != OTHER_PAIR else f"{named['draft_id']},{named['target_id']}"


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def unchanged() -> list[Any]:
    """Leaves ``Controls.components`` as they are."""
    return [gr.skip() for _ in fields(Controls)]


def settings_of(trace: Trace) -> list[Any]:
    """Values for ``Controls.components`` that ask for the very run of this trace. What lies beyond a slider goes to its end."""
    header, config = trace.header, trace.header.config
    values: dict[str, Any] = {name: getattr(config, name) for name in CONFIG_FIELDS}
    for name, knob in KNOBS.items():
        values[name] = min(max(values[name], knob.low), knob.high)
    pair = pair_of(trace, "demo")
    known = {preset.spec.id for preset in PRESETS}
    values["pair"] = pair if pair in known else OTHER_PAIR
    draft, _, target = pair.partition(",")
    values["draft_id"], values["target_id"] = ("", "") if pair in known else (draft, target)
    values["prompt"], values["chat_template"] = header.prompt.text, header.prompt.chat_template
    values["dtype"] = values["device"] = gr.skip()
    return [values[f.name] for f in fields(Controls)]


def values_of(settings: Settings) -> list[Any]:
    """Values for ``Controls.components`` that ask for a run with these settings."""
    values: dict[str, Any] = {name: getattr(settings.config, name) for name in CONFIG_FIELDS}
    for name in ("prompt", "chat_template", "dtype", "device"):
        values[name] = getattr(settings, name)
    known = {preset.spec.id for preset in PRESETS}
    draft, _, target = settings.pair.partition(",")
    values |= {"pair": settings.pair, "draft_id": "", "target_id": ""}
    if settings.pair not in known:
        values |= {"pair": OTHER_PAIR, "draft_id": draft, "target_id": target}
    return [values[f.name] for f in fields(Controls)]


def sliders(config: Config, names: Sequence[str], prefix: str = "", lane: str = "") -> dict[str, gr.Slider]:
    """Sliders by config field. ``prefix`` goes in front of their element ids, ``lane`` in front of their labels."""
    return {name: _slider(name, getattr(config, name), prefix, lane) for name in names}


def _slider(name: str, value: float, prefix: str, lane: str) -> gr.Slider:
    knob = KNOBS[name]
    return gr.Slider(
        knob.low,
        knob.high,
        min(max(value, knob.low), knob.high),
        step=knob.step,
        label=f"{lane}{knob.label}",
        info=knob.help,
        elem_id=f"ez-{prefix}{name.replace('_', '-').replace('overlap-threshold', 'overlap')}",
        elem_classes="ez-slider",
        buttons=[],
    )


def build_prompt(trace: Trace) -> tuple[gr.Textbox, gr.Checkbox, gr.Radio, dict[str, gr.Button]]:
    """Prompt, chat template, mode, and a chip for each recorded example, by its name."""
    header = trace.header
    prompt = gr.Textbox(
        header.prompt.text,
        label="Prompt",
        lines=3,
        max_lines=8,
        elem_id="ez-prompt",
        placeholder="What should the models write about?",
    )
    with gr.Row(elem_classes="ez-chips"):
        chips = {each.name: gr.Button(each.title, size="sm", elem_classes="ez-chip-button") for each in EXAMPLES}
    template = gr.Checkbox(
        True, label="Chat template", info="off: the models continue the raw text", elem_id="ez-template", elem_classes="ez-check"
    )
    mode = gr.Radio(list(MODES), value=header.config.mode, label="Mode", elem_id="ez-mode", elem_classes="ez-segments")
    return prompt, template, mode, chips


def build_gate(config: Config, prefix: str = "", lane: str = "") -> dict[str, Any]:
    """The gate's knobs; ``prefix`` tells their element ids from those of another tab, ``lane`` their labels."""
    resample = gr.Radio(
        list(RESAMPLE),
        value=config.resample,
        label=f"{lane}Resample a gated token",
        elem_id=f"ez-{prefix}resample",
        elem_classes="ez-segments is-long",
        render=False,
    )
    gate = sliders(config, ("draft_threshold", "target_threshold", "overlap_threshold", "k"), prefix, lane)
    return {**gate, "resample": resample.render()}


def build_sampling(config: Config) -> dict[str, Any]:
    return {**sliders(config, ("gamma", "temperature", "max_new_tokens"))}


def build_more_sampling(config: Config, prefix: str = "") -> dict[str, Any]:
    seed = gr.Number(
        config.seed,
        precision=0,
        minimum=0,
        label="Seed",
        info="the same seed gives the same run",
        elem_id=f"ez-{prefix}seed",
        render=False,
    )
    return {**sliders(config, ("top_k", "top_p"), prefix), "seed": seed.render()}


def build_models(pair: str, prefix: str = "") -> dict[str, Any]:
    choices = [(preset.label, preset.spec.id) for preset in PRESETS] + [("Two other models…", OTHER_PAIR)]
    choice = gr.Dropdown(choices, value=pair, label="Pair", filterable=False, elem_id=f"ez-{prefix}pair")
    with gr.Group(visible=False, elem_classes="ez-ids") as ids:
        draft = gr.Textbox(label="Draft", placeholder="hub id or local folder", elem_id=f"ez-{prefix}draft-id", max_lines=1)
        target = gr.Textbox(label="Target", placeholder="hub id or local folder", elem_id=f"ez-{prefix}target-id", max_lines=1)
    choice.change(
        lambda name: gr.update(visible=name == OTHER_PAIR),
        choice,
        ids,
        queue=False,
        api_visibility="private",
        show_progress="hidden",
    )
    dtype = gr.Dropdown(
        ["auto", "float32", "bfloat16", "float16"],
        value="auto",
        label="Precision",
        info="auto: float32 on a CPU. In 16 bits near-ties are decided by rounding, so greedy texts may differ.",
        filterable=False,
        elem_id=f"ez-{prefix}dtype",
    )
    device = gr.Dropdown(
        [("auto", "auto"), ("CPU", "cpu"), ("CUDA", "cuda"), ("MPS", "mps")],
        value="auto",
        label="Device",
        info="auto: a GPU where there is one",
        filterable=False,
        elem_id=f"ez-{prefix}device",
    )
    return {"pair": choice, "draft_id": draft, "target_id": target, "dtype": dtype, "device": device}
