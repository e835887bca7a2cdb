"""While a knob is dragged, charts change in place; what they show then is what plotly draws once the knob rests."""

from __future__ import annotations

import pytest
from driving import STORE, open_trace, plot, slide
from synthetic import make_trace

from easd_viz.trace import Config

DRAWN = r"""(e) => {
  const of = (selector, read) => [...e.querySelectorAll(selector)].map(read);
  const box = (each) => { const r = each.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; };
  const look = (each) => {
    const { fill, fillOpacity } = getComputedStyle(each);
    const [r, g, b, a = 1] = fill.match(/[\d.]+/g).map(Number);
    return [r, g, b, 100 * a * fillOpacity];
  };
  return {
    points: of(".scatterlayer path.point", (p) => [...box(p), ...look(p)]),
    bars: of(".barlayer .point path", box),
    lines: of(".shapelayer path[data-index]", box),
    labels: of("g.annotation text", (t) => [t.textContent, ...box(t)]),
    ticks: of(".xaxislayer-above .xtick text", (t) => [t.textContent, ...box(t)]),
  };
}"""
"""Where everything is that a knob moves, in px, and what it looks like."""


NEAR = 1.01
"""px: plotly puts labels on whole pixels."""


def differing(one: list, other: list) -> list:
    """The items of two lists that are not alike, in pairs."""
    assert len(one) == len(other), f"{len(one)} and {len(other)} of them"

    def alike(a, b) -> bool:
        return a == b if isinstance(a, str) else abs(a - b) < NEAR

    return [(a, b) for a, b in zip(one, other, strict=True) if not all(map(alike, a, b))]


@pytest.mark.parametrize("label", ["Along the text", "Gate plane", "Acceptance rate"])
def test_what_is_moved_in_place_is_what_plotly_draws(page, label):
    config = Config(gamma=3, draft_threshold=2.0, target_threshold=1.0, overlap_threshold=0.2)
    open_trace(page, make_trace(seed=6, steps=60, gamma=3, config=config))
    page.wait_for_function(f"{STORE}.trace.rounds.length === 60")
    chart = plot(page, label)
    page.wait_for_function("e => !e.easdPlot.busy", arg=chart.element_handle())
    page.wait_for_timeout(600)  # the draw that follows a calm half second
    recorded = chart.evaluate(DRAWN)
    for value in (0.6, 3.1):
        chart.evaluate("e => { e.draws = 0; e.on('plotly_afterplot', () => { e.draws += 1; }); }")
        slide(page, "τ draft, nats", value)
        page.wait_for_function(f"{STORE}.gate.draft_threshold === {value} && {STORE}.pending.size === 0")
        in_place, draws = chart.evaluate(f"(e) => [({DRAWN})(e), e.draws]")
        assert draws == 0, f"{label} was drawn by plotly at once: nothing moved in place"
        page.wait_for_function("e => e.draws > 0 && !e.easdPlot.busy", arg=chart.element_handle())
        by_plotly = chart.evaluate(DRAWN)
        assert any(differing(in_place[kind], recorded[kind]) for kind in recorded), "the knob moved nothing: nothing is tested"
        for kind, drawn in by_plotly.items():
            assert not differing(in_place[kind], drawn), f"{kind} of {label}: (in place, by plotly)"
        recorded = by_plotly
