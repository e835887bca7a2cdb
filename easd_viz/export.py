"""A run as one self-contained HTML file, to hand in or to keep: data, text, charts and details, with no network needed."""

from __future__ import annotations

from functools import cache

from easd_viz import assets
from easd_viz.trace import Trace
from easd_viz.views.bundle import bundle
from easd_viz.views.page import Parts, page

MOST_BYTES = 6_000_000
"""A page above this is too large to mail; a run of a thousand tokens stays below."""


@cache
def parts() -> Parts:
    return Parts(plotly=assets.plotly_js(), views=bundle(assets.scripts(), "standalone.js"), style=assets.style())


def to_html(trace: Trace) -> str:
    return page(trace, parts())
