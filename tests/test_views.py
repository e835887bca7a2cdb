"""Views: the compact data holds the trace, costs nothing twice, and the colour table serves all."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from synthetic import make_trace

from easd_viz import trace as t
from easd_viz.ui import controls, run, session
from easd_viz.ui.session import Session, Wanted, plan
from easd_viz.views import charts, data, theme


def test_view_model_is_the_trace_but_for_rounded_top_lists():
    trace = make_trace(seed=1, steps=6)
    value = data.view_model(trace).value
    lines = [value["head"], *value["steps"], value["foot"]]
    again = t.loads("\n".join(lines).encode())
    for step, shown in zip(trace.steps, again.steps, strict=True):
        for token, seen in zip(step.drafted, shown.drafted, strict=True):
            assert replace(seen, draft_top=token.draft_top, target_top=token.target_top) == token
            assert [e[:2] for e in seen.draft_top] == [e[:2] for e in token.draft_top]
            assert [e[2] for e in seen.draft_top] == pytest.approx([e[2] for e in token.draft_top], rel=1e-3)


def test_a_longer_trace_reuses_what_is_encoded():
    whole = make_trace(seed=1, steps=6)
    part = data.view_model(replace(whole, steps=whole.steps[:4], footer=None))
    longer = data.view_model(whole, part)
    assert all(a is b for a, b in zip(part.steps, longer.steps[:4], strict=True))
    assert longer.value == data.view_model(whole).value


def test_another_trace_shares_nothing_with_the_one_before():
    before = data.view_model(make_trace(seed=1, steps=6))
    other = make_trace(seed=2, steps=6)
    assert data.view_model(other, before).value == data.view_model(other).value


def test_no_two_colours_of_a_theme_are_equal():
    for side in ("light", "dark"):
        values = [getattr(c, side).lower() for c in theme.COLOURS.values()]
        assert len(set(values)) == len(values), f"two {side} colours are equal: a figure could not be turned dark"


def _luminance(hex_colour: str) -> float:
    channels = [int(hex_colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", ["ink", "mute", "accent", "error"])
@pytest.mark.parametrize("side", ["light", "dark"])
def test_text_colours_are_legible(name, side):
    low, high = sorted(_luminance(getattr(theme.COLOURS[n], side)) for n in (name, "bg"))
    assert (high + 0.05) / (low + 0.05) >= 4.5, f"{name} on the {side} background"


def test_css_holds_every_colour_on_both_themes():
    css = theme.css()
    for name in theme.COLOURS:
        assert len(re.findall(rf"--ez-{name}:", css)) == 2


@pytest.mark.parametrize("name", list(charts.FIGURES))
def test_figures_are_plain_json_and_see_through(name):
    figure = charts.skeleton(name)
    assert json.loads(json.dumps(figure))["layout"]["paper_bgcolor"] == "rgba(0,0,0,0)"
    assert figure["data"] in ([], ())


# ---- what a request means, without any model -----------------------------------------------------------------


def asked(trace: t.Trace, **changes) -> Wanted:
    header = trace.header
    return Wanted(
        header.prompt.text,
        header.prompt.chat_template,
        replace(header.config, **changes),
        "synthetic-draft,synthetic-target",
        "auto",
    )


def shown(trace: t.Trace) -> Session:
    return Session(trace=trace)


def streamed(monkeypatch, trace: t.Trace, pause_after: int | None = None) -> tuple[Session, list[int]]:
    """A session after a run whose rounds take 50 ms each, paused or not, and how many rounds the page had at each send."""
    clock = iter(0.05 * n for n in range(10**6))
    now = [0.0]
    visitor = Session()

    def rounds(*_args):
        for step in trace.steps:
            now[0] = next(clock)
            yield trace.header, (step,), trace.footer if step is trace.steps[-1] else None
            if pause_after == step.index:
                session.pause(visitor)

    monkeypatch.setattr(session, "rounds", rounds)
    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])
    todo = session.Plan(trace.header.config, (), None, False, None)
    updates = list(session._run(visitor, trace.header.prompt, asked(trace), todo, visitor.request))
    return visitor, [len(update.view["steps"]) for update in updates if update.view is not None]


def test_a_longer_trace_is_sent_less_often_and_whole_in_the_end(monkeypatch):
    _, sent = streamed(monkeypatch, make_trace(seed=1, steps=200))
    assert sent[1:15] == list(range(sent[1], sent[1] + 14)), "a short one at every round"
    assert all(later - earlier >= 2 for earlier, later in pairwise(sent[-20:-1]))
    assert sent[-1] == 200


def test_a_paused_run_shows_the_round_that_was_not_sent_yet(monkeypatch):
    trace = make_trace(seed=1, steps=200)
    _, sent = streamed(monkeypatch, trace)
    held_back = next(n for n in range(150, 200) if n not in sent)
    visitor, seen = streamed(monkeypatch, trace, pause_after=held_back - 1)
    assert seen[-1] < held_back == len(visitor.trace.steps)
    assert len(run.shown_value(visitor)["steps"]) == held_back


def test_a_step_goes_on_from_the_last_round():
    trace = make_trace(seed=1, steps=10)
    found = plan(shown(trace), asked(trace), "step")
    assert (found.resume, found.rounds, found.keep_header) == (trace.steps, 1, True)


def test_a_step_under_other_thresholds_goes_on_from_the_boundary():
    trace = make_trace(seed=1, steps=30)
    found = plan(shown(trace), asked(trace, draft_threshold=0.0, target_threshold=0.0, overlap_threshold=0.0), "step")
    assert 0 < len(found.resume) < 30
    assert found.parent.step == len(found.resume)
    assert found.parent.change == {"draft_threshold": 0.0, "target_threshold": 0.0, "overlap_threshold": 0.0}


def test_a_step_with_another_prompt_or_temperature_is_a_new_run():
    trace = make_trace(seed=1, steps=10)
    for wanted in (
        replace(asked(trace), prompt="Another"),
        asked(trace, temperature=0.1),
        replace(asked(trace), chat_template=True),
    ):
        assert plan(shown(trace), wanted, "step").resume == ()


def test_run_always_starts_anew():
    trace = make_trace(seed=1, steps=10)
    assert plan(shown(trace), asked(trace), "run").resume == ()


def test_more_room_goes_on_with_the_same_run():
    trace = make_trace(seed=1, steps=10)
    found = plan(shown(trace), asked(trace, max_new_tokens=500), "continue")
    assert found.resume == trace.steps
    assert found.config.max_new_tokens == 500


def test_opened_settings_ask_for_the_opened_run():
    trace = make_trace(seed=1, steps=3, config=t.Config(temperature=0.5, k=7, resample="exclude", seed=9, draft_threshold=1.25))
    values = controls.settings_of(trace)
    values[-2:] = ["auto", "auto"]
    assert controls.wanted(*values).config == trace.header.config
    assert plan(shown(trace), controls.wanted(*values), "step").resume == trace.steps


def test_no_event_listener_hides_in_the_page_configuration():
    """``gr.HTML`` hands out listeners for arguments called like a quoted word of ``js_on_load``; one holds the whole app."""
    from easd_viz.ui.app import build

    parts = build().get_config_file()["components"]
    found = [(part["type"], name) for part in parts for name, value in part["props"].items() if callable(value)]
    assert [each for each in found if each[0] != "state"] == []
