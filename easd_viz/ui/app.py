"""The page: header, tabs, theme, and what the browser has to load. ``app.py`` launches what ``build`` returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from easd_viz import assets
from easd_viz.examples import EXAMPLES
from easd_viz.ui import compare, learn, run, share, tune
from easd_viz.ui.components import PairLabel
from easd_viz.ui.first_paint import FirstPaint, in_body, in_head
from easd_viz.views import theme

TABS: list[tuple[str, Callable[[gr.Tab, dict[str, Any]], Any]]] = [
    ("Run", lambda tab, built: run.build()),
    ("Tune", lambda tab, built: tune.build(tab, built["Run"])),
    ("Compare", lambda tab, built: compare.build()),
    ("Learn", lambda tab, built: learn.build()),
]
"""(name, what builds the tab from its place in the page and the parts of the tabs before it); in the order of the page."""


def build() -> gr.Blocks:
    """The whole app, before any model is loaded."""
    gr.set_static_paths([assets.ASSETS, assets.plotly_folder()])
    with gr.Blocks(title="EASD Viz", fill_width=True, analytics_enabled=False) as demo:
        with gr.Row(elem_classes="ez-header"):
            gr.HTML("<h1>EASD Viz</h1>", apply_default_css=False, elem_classes="ez-name")
            PairLabel(store="run", elem_classes="ez-pair-slot")
        with gr.Tabs(elem_classes="ez-tabs"):
            built: dict[str, Any] = {}
            for name, make in TABS:
                with gr.Tab(name, id=name.lower(), elem_classes="ez-tab") as tab:
                    built[name] = make(tab, built)
        share.wire(built["Run"])
    return demo


def first_paint() -> Middleware:
    return Middleware(FirstPaint, head=in_head(), body=in_body([name for name, _ in TABS], EXAMPLES[0].prompt))


def page_theme() -> gr.themes.Base:
    """Gradio's own parts in the app's colours, which the style sheet holds as variables."""
    both = {
        "body_background_fill": "var(--ez-bg)",
        "body_text_color": "var(--ez-ink)",
        "body_text_color_subdued": "var(--ez-mute)",
        "background_fill_primary": "var(--ez-bg)",
        "background_fill_secondary": "var(--ez-panel)",
        "block_background_fill": "transparent",
        "block_border_color": "var(--ez-line)",
        "border_color_primary": "var(--ez-line)",
        "border_color_accent": "var(--ez-accent)",
        "color_accent_soft": "var(--ez-panel)",
        "input_background_fill": "var(--ez-panel)",
        "input_background_fill_focus": "var(--ez-panel)",
        "input_border_color": "var(--ez-line)",
        "input_border_color_focus": "var(--ez-accent)",
        "input_placeholder_color": "var(--ez-mute)",
        "block_label_text_color": "var(--ez-ink)",
        "block_title_text_color": "var(--ez-ink)",
        "block_info_text_color": "var(--ez-mute)",
        "slider_color": "var(--ez-accent)",
        "button_primary_background_fill": "var(--ez-accent)",
        "button_primary_background_fill_hover": "color-mix(in srgb, var(--ez-accent) 88%, var(--ez-ink))",
        "button_primary_text_color": "var(--ez-on-accent)",
        "button_primary_border_color": "transparent",
        "button_secondary_background_fill": "transparent",
        "button_secondary_background_fill_hover": "var(--ez-panel)",
        "button_secondary_text_color": "var(--ez-ink)",
        "button_secondary_border_color": "var(--ez-line)",
        "checkbox_background_color": "var(--ez-panel)",
        "checkbox_background_color_selected": "var(--ez-accent)",
        "checkbox_border_color": "var(--ez-edge)",
        "checkbox_border_color_selected": "var(--ez-accent)",
    }
    base = gr.themes.Base(
        font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"], radius_size="md", text_size="md"
    )
    return base.set(**both, **{f"{name}_dark": value for name, value in both.items()})


LAUNCH: dict[str, Any] = {
    "theme": page_theme(),
    "css": theme.css() + assets.style(),
    "app_kwargs": {"middleware": [first_paint()]},
    "run_history": False,
    "ssr_mode": False,
    "footer_links": [],
    "max_file_size": "64mb",
}
"""How the app is launched, in tests too. No run history: Gradio would keep every prompt in the browser's storage."""
