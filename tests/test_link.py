"""Settings -> link -> the same settings; and what a link may not do."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from easd_viz import UserError
from easd_viz.link import LONGEST_PROMPT, NUMBERS, WHOLE, Settings, of_example, of_settings, read
from easd_viz.trace import MODES, RESAMPLES, Config

BASE = Settings("Hello.", True, Config(), "demo", "auto")

configs = st.builds(
    Config,
    mode=st.sampled_from(MODES),
    gamma=st.integers(1, 16),
    temperature=st.just(0.0) | st.floats(0.01, 2),
    top_k=st.integers(0, 200),
    top_p=st.floats(0.05, 1),
    k=st.integers(1, 20),
    draft_threshold=st.floats(0, 8),
    target_threshold=st.floats(0, 8),
    overlap_threshold=st.floats(0, 1),
    resample=st.sampled_from(RESAMPLES),
    max_new_tokens=st.integers(1, 1024),
    seed=st.integers(0, 2**53 - 1),
)
text = st.text(st.characters(blacklist_categories=["Cs"]), max_size=300)
names = st.text("abcXYZ019-_./@", min_size=1, max_size=40)
settings = st.builds(
    Settings,
    prompt=text,
    chat_template=st.booleans(),
    config=configs,
    pair=st.just("demo") | st.tuples(names, names).map(",".join),
    dtype=st.sampled_from(["auto", "float32", "bfloat16", "float16"]),
    device=st.sampled_from(["auto", "cpu", "cuda", "mps"]),
)


def query(link: str) -> dict[str, str]:
    return dict(parse_qsl(link, keep_blank_values=True, strict_parsing=True))


@given(settings)
def test_there_and_back(wanted: Settings) -> None:
    got = read(query(of_settings(wanted)), BASE)
    assert got.notes == ()
    assert got.settings == wanted


@given(
    st.dictionaries(
        st.sampled_from([*WHOLE, *NUMBERS, "mode", "resample", "template", "pair", "dtype", "device", "prompt", "x"]), text
    )
)
def test_whatever_a_link_says_the_settings_are_in_range_or_it_is_said(given_: dict[str, str]) -> None:
    got = read(given_, BASE)
    if got.settings is None:
        assert set(given_) <= {"x"}
        return
    for name, (field, low, high) in {**WHOLE, **NUMBERS}.items():
        assert low <= getattr(got.settings.config, field) <= high
        if name in given_ and str(getattr(got.settings.config, field)) not in (given_[name], f"{given_[name]}.0"):
            assert got.notes or float(given_[name]) == getattr(got.settings.config, field)


@pytest.mark.parametrize(
    ("given_", "field", "value", "says"),
    [
        ({"gamma": "99"}, "gamma", 16, "gamma 99 is outside 1 to 16: 16 is set"),
        ({"gamma": "-3"}, "gamma", 1, "1 is set"),
        ({"tau_draft": "inf"}, "draft_threshold", 8, "outside 0 to 8"),
        ({"tau_draft": "nan"}, "draft_threshold", Config().draft_threshold, "not understood"),
        ({"temperature": "0.001"}, "temperature", 0, "greedy"),
        ({"k": "3.5"}, "k", 10, "not understood"),
        ({"mode": "easd<script>"}, "mode", "easd", "not understood"),
        ({"seed": "9" * 25}, "seed", 2**53 - 1, "outside"),
    ],
)
def test_out_of_range_is_clamped_and_said(given_: dict[str, str], field: str, value: Any, says: str) -> None:
    got = read(given_, BASE)
    assert got.settings is not None
    assert getattr(got.settings.config, field) == value
    assert says in " ".join(got.notes)


def test_what_is_left_out_is_as_it_was() -> None:
    got = read({"rho": "0.25"}, BASE)
    assert got.settings is not None
    assert got.settings.config.overlap_threshold == 0.25
    assert (got.settings.prompt, got.settings.config.gamma) == (BASE.prompt, BASE.config.gamma)
    assert read({"__theme": "dark"}, BASE).settings is None


def test_an_example_and_a_token() -> None:
    got = read(query(of_example("lighthouse", "16.2")), BASE)
    assert (got.example, got.token, got.settings) == ("lighthouse", "16.2", None)
    assert read(query(of_example("code")), BASE).token is None
    assert read({"example": "code", "token": "<b>"}, BASE).notes


def test_a_prompt_too_long_for_a_link_is_refused_or_cut() -> None:
    long = "x" * (LONGEST_PROMPT + 1)
    with pytest.raises(UserError, match="share the run as a file"):
        of_settings(Settings(long, True, Config(), "demo", "auto"))
    got = read({"prompt": long}, BASE)
    assert got.settings is not None
    assert len(got.settings.prompt) == LONGEST_PROMPT
    assert got.notes


def test_a_link_reaches_as_far_as_the_sliders() -> None:
    from easd_viz.ui.controls import KNOBS

    reach = {field: (low, high) for field, low, high in (*WHOLE.values(), *NUMBERS.values()) if field != "seed"}
    assert reach == {name: (knob.low, knob.high) for name, knob in KNOBS.items()}
