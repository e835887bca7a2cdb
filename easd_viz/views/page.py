"""A run as one HTML page that carries all it needs: data, views, charts. Opened from disk, it asks no network for anything.

Text reaches the page in two ways only: escaped as markup (``_text``), or packed (gzip in base64), which the page's script unpacks
and the views draw as text. The page's own security policy forbids every request.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
from dataclasses import dataclass
from typing import Any

from easd_viz.trace import Trace, config_json, dumps
from easd_viz.views import theme
from easd_viz.views.charts import FIGURES, skeleton

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

LABELS = {
    "mode": "mode",
    "gamma": "γ",
    "temperature": "temperature",
    "top_k": "sampler’s top-k",
    "top_p": "sampler’s top-p",
    "k": "k",
    "draft_threshold": "τ draft, nats",
    "target_threshold": "τ target, nats",
    "overlap_threshold": "ρ overlap",
    "resample": "resample",
    "max_new_tokens": "new tokens",
    "seed": "seed",
}

UNPACK = """
(async () => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.body.classList.toggle("dark", dark.matches);
  dark.addEventListener("change", follow);
  follow();
  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const run = (source) => {
    const script = document.createElement("script");
    script.textContent = source;
    document.head.append(script);
  };
  window.easdPage.trace = await unpack("packed-trace");
  run(await unpack("packed-plotly"));
  run(await unpack("packed-views"));
})();
"""


@dataclass(frozen=True, slots=True)
class Parts:
    """The files that the page is made of, read by whoever asks for it."""

    plotly: str
    views: str
    """The bundle of ``standalone.js``."""
    style: str


def page(trace: Trace, parts: Parts) -> str:
    name = f"easd-{trace.fingerprint}"
    data = {"name": name, "figures": {figure: skeleton(figure) for figure in FIGURES}}
    packed = {"trace": dumps(trace), "plotly": parts.plotly.encode(), "views": parts.views.encode()}
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{_text(_title(trace))}</title>\n<style>{theme.css()}{parts.style}</style>\n",
            f"<script>window.easdPalette={_json(theme.palette())};window.easdPage={_json(data)};</script>\n</head>\n",
            f'<body class="gradio-container ez-page">\n{_body(trace)}',
            *(f'<script type="text/plain" id="packed-{key}">{_pack(value)}</script>\n' for key, value in packed.items()),
            f"<script>{UNPACK}</script>\n</body>\n</html>\n",
        ]
    )


def _title(trace: Trace) -> str:
    prompt = " ".join(trace.header.prompt.text.split())
    return f"{prompt[:60]}{'…' if len(prompt) > 60 else ''} · EASD Viz"


def _body(trace: Trace) -> str:
    charts = "".join(f'<div data-view="chart" data-chart="{figure}"></div>' for figure in ("plane", "rounds", "by_index"))
    return (
        '<header class="ez-header"><h1>EASD Viz</h1><span data-view="pair"></span></header>\n'
        "<noscript>This page draws a recorded run with JavaScript, which is switched off.</noscript>\n"
        f'<main class="ez-run"><div class="column ez-main">{_about(trace)}'
        '<div data-view="cards"></div><div data-view="tokens" id="ez-text"></div><div data-view="details" id="ez-details"></div>'
        '<div data-view="chart" data-chart="along"></div><div data-view="chart" data-chart="ranks"></div></div>'
        f'<div class="column ez-side">{charts}</div></main>\n'
    )


def _about(trace: Trace) -> str:
    header = trace.header
    config = config_json(header.config)
    knobs = "".join(f"<div><dt>{label}</dt><dd>{_text(config[name])}</dd></div>" for name, label in LABELS.items())
    made = f"Recorded {_text(header.created)} with EASD Viz {_text(header.app_version)}."
    save = '<button type="button" class="ez-link" id="save-trace">Save the trace (JSONL)</button>'
    return f'<section class="ez-about"><dl class="ez-knobs">{knobs}</dl><p class="ez-aside">{made} {save}</p></section>'


def _text(value: object) -> str:
    return html.escape(str(value))


def _json(value: Any) -> str:
    """JSON inside a script: no ``<`` can end it."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")


def _pack(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
