"""Sharing the Run tab: a link that asks for the same run, the run as a page to hand in, and opening such a link."""

from __future__ import annotations

from typing import Any

import gradio as gr

from easd_viz import UserError, examples, export, link
from easd_viz.examples import EXAMPLES
from easd_viz.ui import controls, run
from easd_viz.ui.components import KNOB_ORDER, download, js_knobs, shared, status
from easd_viz.ui.run import LIGHT, QUIET, STORE
from easd_viz.ui.session import Session, end_words

JS_SELECTED = f'(session, sharer, ...rest) => [session, easd.store("{STORE}").selected, ...rest]'
"""Sends the key of the token that is selected, which only the browser knows."""


def wire(parts: run.Parts) -> None:
    inputs = [parts.session, parts.sharer, *parts.controls.components()]
    parts.share.click(share, inputs, [parts.sharer, parts.status], js=JS_SELECTED, **LIGHT)
    parts.save_html.click(save_html, parts.session, parts.saver, **LIGHT)
    outputs = [parts.session, parts.text, parts.status, *parts.buttons, *parts.controls.components(), parts.sharer]
    knobs = [getattr(parts.controls, name) for name in KNOB_ORDER]
    # with neither triggers nor inputs: when the page is loaded
    gr.on(None, open_link, None, outputs, **LIGHT).then(None, knobs, None, js=js_knobs(STORE), **QUIET)


def save_html(session: Session | None) -> dict[str, Any]:
    shown = run.shown_by(session)
    return download(f"easd-{shown.fingerprint}.html", "text/html", export.to_html(shown))


def share(session: Session | None, token: str | None, *values: Any) -> list[Any]:
    """The link to a bundled example where one is shown and nothing was changed, else to the settings."""
    try:
        wanted = settings(controls.wanted(*values))
        name = _example_shown(session, wanted)
        query = link.of_settings(wanted) if name is None else link.of_example(name, token or None)
    except UserError as error:
        return [gr.skip(), status("error", str(error))]
    what = "these settings and the prompt" if name is None else "this example" + (" and the selected token" if token else "")
    return [shared(query, f"A link to {what}"), gr.skip()]


def settings(wanted: Any) -> link.Settings:
    return link.Settings(wanted.prompt, wanted.chat_template, wanted.config, wanted.pair, wanted.dtype, wanted.device)


def _example_shown(session: Session | None, wanted: link.Settings) -> str | None:
    shown = run.shown_by(session)
    for example in EXAMPLES:
        recorded = examples.load(example.name)
        header = recorded.header
        same = (header.prompt.text, header.config, header.prompt.chat_template) == (
            wanted.prompt,
            wanted.config,
            wanted.chat_template,
        )
        if same and recorded.fingerprint == shown.fingerprint:
            return example.name
    return None


def open_link(request: gr.Request) -> list[Any]:
    """For ``wire``'s outputs: what the page's address asks for."""
    base = run.example().trace.header
    asked = link.read(dict(request.query_params), link.Settings(base.prompt.text, True, base.config, "demo", "auto"))
    if asked.example is not None:
        return _open_example(asked)
    kept = [gr.skip()] * 3  # the buttons and the session stay: a quick visitor may have started a run already
    if asked.settings is None:
        return [gr.skip(), gr.skip(), gr.skip(), *kept, *controls.unchanged(), gr.skip()]
    line = status("notice", "Settings from the link", ". ".join(asked.notes))
    return [gr.skip(), gr.skip(), line, *kept, *controls.values_of(asked.settings), gr.skip()]


def _open_example(asked: link.Link) -> list[Any]:
    session = run.of_visitor(None)
    name = asked.example or ""
    names = [example.name for example in EXAMPLES]
    if name not in names:
        line = status("error", f"There is no example called “{name[:40]}”. There are: {', '.join(names)}.")
        return [session, gr.skip(), line, *run.button_states(session), *controls.unchanged(), gr.skip()]
    found = examples.load(name)
    view = session.show(found)
    line = status("idle", "A recorded example", ". ".join((end_words(found)[1], *asked.notes)))
    return [session, view, line, *run.button_states(session), *controls.settings_of(found), shared(None, select=asked.token)]
