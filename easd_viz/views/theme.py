"""The one table of colours, and what is made from it: CSS variables, figure templates, scales.

Outcome colours are Okabe and Ito's (2008), safe for colour-blind readers, shifted in lightness until each is legible on its
theme. Colour never stands alone: every outcome has a glyph or a text decoration too (``GLYPHS`` and the style sheet).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go


@dataclass(frozen=True, slots=True)
class Colour:
    """One meaning, as a hex colour on either theme."""

    light: str
    dark: str


COLOURS: Mapping[str, Colour] = {
    "bg": Colour("#ffffff", "#14171c"),
    "panel": Colour("#f7f8fa", "#1b1f26"),
    "raised": Colour("#fefefe", "#20252d"),
    "ink": Colour("#1b1f24", "#e8eaed"),
    "mute": Colour("#5d6776", "#98a2b3"),
    "line": Colour("#e4e7ec", "#2c323b"),
    "edge": Colour("#c4cad4", "#454d59"),
    "accent": Colour("#0072b2", "#56b4e9"),
    "on-accent": Colour("#fffffe", "#10202c"),
    "accepted": Colour("#009e73", "#35c79b"),
    "rejected": Colour("#d55e00", "#ff8a4c"),
    "gated": Colour("#b5458b", "#e88cc8"),
    "discarded": Colour("#98a1b0", "#6b7483"),
    "residual": Colour("#0073b3", "#6cb8f0"),
    "bonus": Colour("#4596d3", "#9bd0f5"),
    "error": Colour("#b42318", "#ff8f85"),
}
"""Every colour of the app. No two entries of one theme are equal, so that a figure made in light colours can be turned dark."""

GLYPHS: Mapping[str, str] = {"accepted": "●", "rejected": "×", "gated": "◆", "discarded": "·"}
"""The mark of each outcome beside its colour, in figures, legends and the text."""

CIVIDIS = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838")
"""The one scale for quantities (Nuñez et al. 2018): even in lightness, the same for colour-blind readers."""

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif'
MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace'


def colour(name: str) -> str:
    """The colour for a figure: the light theme's. The plot panel shows its dark partner on the dark theme."""
    return COLOURS[name].light


def tint(name: str, alpha: float) -> str:
    """The same, see-through."""
    red, green, blue = (int(COLOURS[name].light[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def css() -> str:
    """The table as CSS variables ``--ez-<name>``, light in ``:root`` and dark in ``.dark``."""
    light = "".join(f"--ez-{name}:{c.light};" for name, c in COLOURS.items())
    dark = "".join(f"--ez-{name}:{c.dark};" for name, c in COLOURS.items())
    scale = f"--ez-scale:linear-gradient(90deg,{','.join(CIVIDIS)});"
    return f":root{{{light}{scale}--ez-font:{FONT};--ez-mono:{MONO};}}\n.dark{{{dark}}}\n"


def palette() -> dict[str, Any]:
    """The table for the browser's scripts, which turn figures dark and colour text by number."""
    return {
        "light": {name: c.light for name, c in COLOURS.items()},
        "dark": {name: c.dark for name, c in COLOURS.items()},
        "scale": list(CIVIDIS),
        "glyphs": dict(GLYPHS),
    }


def axis(title: str | None = None, **more: Any) -> dict[str, Any]:
    """An axis as all figures have it: a thin line, no grid, quiet labels."""
    base: dict[str, Any] = {
        "showgrid": False,
        "zeroline": False,
        "linecolor": colour("line"),
        "tickcolor": colour("line"),
        "ticks": "outside",
        "ticklen": 4,
        "tickfont": {"size": 11, "color": colour("mute")},
        "title": {"text": title or "", "font": {"size": 12, "color": colour("mute")}, "standoff": 6},
    }
    return {**base, **more}


def figure(height: int, **layout: Any) -> go.Figure:
    """An empty figure in the house style: see-through, so that either theme's page shows; fonts and margins set."""
    base: dict[str, Any] = {
        "template": "none",
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": colour("ink")},
        "margin": {"l": 44, "r": 8, "t": 8, "b": 38},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": colour("raised"),
            "bordercolor": colour("edge"),
            "font": {"family": FONT, "size": 12, "color": colour("ink")},
            "align": "left",
        },
        "dragmode": "zoom",
    }
    return go.Figure(layout={**base, **layout})
