"""The threshold lab's views: what the browser judges live, the sweep's figures, and tables as plain rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import orjson
import plotly.graph_objects as go
from numpy.typing import NDArray

from easd_viz import calibrate, metrics, replay
from easd_viz.trace import TOP_LENGTH, Trace
from easd_viz.verify import Gate, gate_of
from easd_viz.views.theme import CIVIDIS, axis, colour, figure

Floats = NDArray[np.float64]

# ---- what the browser judges live ------------------------------------------------------------------------


def pool_record(name: str, key: str, trace: Trace) -> str:
    """One trace's drafted tokens on the path as columns, as JSON: all that ``decide`` asks for, at any k, and their texts.

    ``shared``: TOP_LENGTH letters per token, "a" for 0: how many of both first k are common, k = 1..20. ``path``: the text, and
    ``at`` where in it each token stands.
    """
    data = replay.arrays([trace])
    path, at = _path(trace)
    tokens = data.tokens
    gate = gate_of(trace.header.config)
    record = {
        "key": key,
        "name": name,
        "gate": {**_gate_json(gate), "greedy": gate.greedy},
        "forced": sorted(trace.forced),
        "draft_entropy": data.draft_entropy.tolist(),
        "target_entropy": data.target_entropy.tolist(),
        "shared": _letters(data),
        "size": [min(len(t.draft_top), len(t.target_top or ()), TOP_LENGTH) for t in tokens],
        "by_sd": _bits(data.accepted_by_sd),
        "certain": _bits(data.target_prob >= 1),
        "outcome": "".join(t.outcome[0] for t in tokens),
        "round": data.step.tolist(),
        "draft_index": data.draft_index.tolist(),
        "position": data.position.tolist(),
        "text": [t.text for t in tokens],
        "bytes": {i: t.bytes for i, t in enumerate(tokens) if t.bytes},
        "path": path,
        "at": at,
    }
    return orjson.dumps(record, option=orjson.OPT_NON_STR_KEYS).decode()


def _gate_json(gate: Gate) -> dict[str, Any]:
    knobs = {name: getattr(gate, name) for name in replay.KNOBS}
    return {name: "inf" if value == float("inf") else value for name, value in knobs.items()}


def _letters(data: replay.GateArrays) -> str:
    sizes = np.minimum(np.arange(1, TOP_LENGTH + 1), _sizes(data)[:, None])
    counts = np.rint(data.overlap * sizes).astype(np.uint8)
    return bytes((counts + ord("a")).ravel().tolist()).decode()


def _sizes(data: replay.GateArrays) -> NDArray[np.int64]:
    return np.array([min(len(t.draft_top), len(t.target_top or ())) for t in data.tokens], dtype=np.int64)


def _bits(values: NDArray[np.bool_]) -> str:
    return bytes((values.astype(np.uint8) + ord("0")).tolist()).decode()


def _path(trace: Trace) -> tuple[str, list[int]]:
    """The text with the prompt's end before it, and where each drafted token on the path begins."""
    text = trace.header.prompt.text[-replay.CONTEXT_CHARACTERS :]
    at: list[int] = []
    for step in trace.steps:
        for token in step.on_path:
            at.append(len(text))
            text += token.text if token.outcome == "accepted" else ""
        text += step.emitted.text if step.emitted is not None else ""
    return text, at


def plane() -> go.Figure:
    """The lab's gate plane without its data: both entropies, their histograms along the top and the right."""
    quiet = {"showticklabels": False, "ticks": "", "showline": False, "fixedrange": True}
    return figure(
        height=372,
        xaxis=axis("draft entropy, nats", domain=[0, 0.88], fixedrange=True),
        yaxis=axis("target entropy, nats", domain=[0, 0.88], fixedrange=True),
        xaxis2=axis(None, domain=[0.9, 1], **quiet),
        yaxis2=axis(None, domain=[0.9, 1], **quiet),
        dragmode=False,
    )


def blank(height: int, words: str = "") -> dict[str, Any]:
    """A figure with nothing to show yet, and why."""
    hidden = {"visible": False}
    fig = figure(height=height, xaxis=hidden, yaxis=hidden)
    if words:
        fig.add_annotation(
            _note(words, x=0.5, y=0.5, xanchor="center", yanchor="middle", font={"size": 13, "color": colour("mute")})
        )
    plain: dict[str, Any] = fig.to_plotly_json()
    return plain


NO_ROWS: dict[str, Any] = {"name": "", "columns": [], "rows": []}
SWEEP_HEIGHT, MULTIPLES_HEIGHT = 380, 190

# ---- the sweep's figures ---------------------------------------------------------------------------------

GRID = 41
"""Thresholds per axis of the large heatmap."""
SMALL_GRID = 21
RHOS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""The small multiples' overlap thresholds."""


def thresholds(entropies: Floats, unit: str, count: int) -> tuple[Floats, Floats]:
    """(thresholds in nats, what the axis shows of them) for ``unit`` ``nats`` or ``percentiles`` of the loaded traces."""
    if unit == "percentiles":
        shown = np.linspace(0, 100, count)
        return calibrate.percentiles(entropies, shown), shown
    top = max(1.0, float(np.ceil(entropies.max() * 2) / 2))
    nats = np.linspace(0, top, count)
    return nats, nats


def counted(data: replay.GateArrays) -> str:
    """What every rate of the lab rests on, in words."""
    traces = len(np.unique(data.trace))
    return f"n = {int(data.accepted_by_sd.sum())} tokens accepted by SD in {traces} {'trace' if traces == 1 else 'traces'}"


def sweep_figure(data: replay.GateArrays, gate: Gate, unit: str) -> go.Figure:
    """The gate rate over tau_draft x tau_target at the gate's k and rho; a bootstrap interval over traces on hover."""
    x, shown_x = thresholds(data.draft_entropy, unit, GRID)
    y, shown_y = thresholds(data.target_entropy, unit, GRID)
    found = calibrate.sweep(
        data, x, y, k=gate.k, overlap_threshold=gate.overlap_threshold, resample=gate.resample, resamples=calibrate.RESAMPLES
    )
    fig = figure(
        height=SWEEP_HEIGHT,
        xaxis=axis(f"τ draft, {_unit(unit)}", range=_ends(shown_x)),
        yaxis=axis(f"τ target, {_unit(unit)}", range=_ends(shown_y)),
        margin={"l": 52, "r": 8, "t": 40, "b": 42},
        annotations=[
            _note(
                f"estimate on the recorded path<br>k = {gate.k}, ρ = {gate.overlap_threshold:g} · {counted(data)}", align="left"
            )
        ],
        uirevision=f"sweep {unit}",
    )
    fig.add_trace(_heatmap(found, x, y, shown_x, shown_y, colorbar=True))
    if np.isfinite([gate.draft_threshold, gate.target_threshold]).all():
        here = [_shown(v, e, unit) for v, e in zip(_taus(gate), (data.draft_entropy, data.target_entropy), strict=True)]
        fig.add_trace(_here([here[0]], [here[1]]))
    return fig


def _taus(gate: Gate) -> tuple[float, float]:
    return gate.draft_threshold, gate.target_threshold


def _shown(threshold: float, entropies: Floats, unit: str) -> float:
    return calibrate.percentile_rank(entropies, threshold) if unit == "percentiles" else threshold


def _unit(unit: str) -> str:
    return "percentile of the loaded tokens" if unit == "percentiles" else "nats"


def _ends(shown: Floats) -> list[float]:
    half = (shown[1] - shown[0]) / 2
    return [float(shown[0] - half), float(shown[-1] + half)]


def _note(text: str, **more: Any) -> dict[str, Any]:
    place: dict[str, Any] = {"x": 0, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
    return {"text": text, "showarrow": False, "font": {"size": 11, "color": colour("mute")}, **place, **more}


def _here(x: list[float], y: list[float]) -> go.Scatter:
    """A cross where the knobs stand now, legible on any colour of the scale."""
    marker = {"symbol": "cross-thin", "size": 15, "line": {"width": 3, "color": colour("gated")}}
    return go.Scatter(x=x, y=y, mode="markers", marker=marker, hoverinfo="skip")


def _heatmap(
    found: calibrate.Sweep, x: Floats, y: Floats, shown_x: Floats, shown_y: Floats, *, colorbar: bool = False, **more: Any
) -> go.Heatmap:
    """Cells carry [tau_draft, tau_target, gated, low, high, rho] for hover and click; rows are the target's thresholds."""
    n_y, n_x = len(y), len(x)
    empty = np.full((n_x, n_y), np.nan)
    low = empty if found.low is None else found.low
    high = empty if found.high is None else found.high
    columns = [
        np.broadcast_to(x, (n_y, n_x)),
        np.broadcast_to(y[:, None], (n_y, n_x)),
        found.gated.T,
        100 * low.T,
        100 * high.T,
        np.full((n_y, n_x), found.overlap_threshold),
    ]
    cells = np.round(np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=-1), 6)
    interval = "" if found.low is None else "<br>95 % over traces: %{customdata[3]:.1f} to %{customdata[4]:.1f} %"
    return go.Heatmap(
        x=np.round(shown_x, 6).tolist(),
        y=np.round(shown_y, 6).tolist(),
        z=np.round(100 * found.rate.T, 4).tolist(),
        customdata=[[[None if np.isnan(v) else v for v in cell] for cell in row] for row in cells.tolist()],
        colorscale=[[i / (len(CIVIDIS) - 1), c] for i, c in enumerate(CIVIDIS)],
        zmin=0,
        zmax=max(1.0, float(np.nanmax(100 * found.rate)) if found.accepted_by_sd else 1.0),
        showscale=colorbar,
        colorbar={"title": {"text": "gate rate, %", "side": "right", "font": {"size": 11}}, "thickness": 10, "outlinewidth": 0},
        hovertemplate=(
            "τ draft %{customdata[0]:.2f}, τ target %{customdata[1]:.2f} nats<br>gate rate %{z:.1f} %: %{customdata[2]:.0f} of "
            f"{found.accepted_by_sd}{interval}<extra></extra>"
        ),
        **more,
    )


def multiples_figure(data: replay.GateArrays, gate: Gate, unit: str) -> go.Figure:
    """The same sweep, small, for six overlap thresholds on one colour scale."""
    x, shown_x = thresholds(data.draft_entropy, unit, SMALL_GRID)
    y, shown_y = thresholds(data.target_entropy, unit, SMALL_GRID)
    fig = figure(height=MULTIPLES_HEIGHT, margin={"l": 40, "r": 8, "t": 24, "b": 36}, uirevision=f"multiples {unit}")
    sweeps = [calibrate.sweep(data, x, y, k=gate.k, overlap_threshold=rho, resample=gate.resample) for rho in RHOS]
    most = max(float(np.nanmax(100 * s.rate)) if s.accepted_by_sd else 1.0 for s in sweeps)
    gap = 0.02
    width = (1 - gap * (len(RHOS) - 1)) / len(RHOS)
    for i, (rho, found) in enumerate(zip(RHOS, sweeps, strict=True)):
        name = "" if i == 0 else str(i + 1)
        left = i * (width + gap)
        trace = _heatmap(found, x, y, shown_x, shown_y, xaxis=f"x{name}", yaxis="y")
        trace.zmax = max(1.0, most)
        fig.add_trace(trace)
        title = f"τ draft, {'percentile' if unit == 'percentiles' else 'nats'}" if i == 0 else None
        fig.layout[f"xaxis{name}"] = axis(title, domain=[left, left + width], range=_ends(shown_x), anchor="y")
        ink = "gated" if abs(rho - gate.overlap_threshold) < 1e-9 else "mute"
        fig.add_annotation(_note(f"ρ ≥ {rho:g}", x=left, font={"size": 11, "color": colour(ink)}))
    fig.layout.yaxis = axis("τ target", range=_ends(shown_y))
    return fig


def k_figure(data: replay.GateArrays, gate: Gate) -> go.Figure:
    """The gate rate at these thresholds for every k: how much the length of the lists matters."""
    rates = 100 * calibrate.rates_over_k(data, gate)
    ks = list(range(1, len(rates) + 1))
    fig = figure(
        height=SWEEP_HEIGHT,
        xaxis=axis("k", dtick=5, range=[0.3, len(ks) + 0.7]),
        yaxis=axis("gate rate, %", rangemode="tozero"),
        margin={"l": 48, "r": 8, "t": 40, "b": 42},
        annotations=[_note(f"at the present thresholds and ρ = {gate.overlap_threshold:g}")],
        uirevision="k",
    )
    sizes, inks = [13 if k == gate.k else 7 for k in ks], [colour("gated") if k == gate.k else colour("accent") for k in ks]
    fig.add_trace(
        go.Scatter(
            x=ks,
            y=[None if np.isnan(r) else round(float(r), 4) for r in rates],
            customdata=ks,
            mode="lines+markers",
            line={"color": colour("accent"), "width": 1.5},
            marker={"size": sizes, "color": inks, "symbol": ["diamond" if k == gate.k else "circle" for k in ks]},
            hovertemplate="k = %{x}: %{y:.1f} %<extra></extra>",
        )
    )
    return fig


# ---- tables, as {columns, rows} for the browser's table view -----------------------------------------------


def token_rows(data: replay.GateArrays, gate: Gate) -> dict[str, Any]:
    """Which tokens the gate turns away or nearly does."""
    columns = [
        _column("text", "token", "token"),
        _column("token_class", "class", "choice"),
        _column("gated", "gated", "count"),
        _column("nearly", "nearly", "count"),
        _column("accepted_by_sd", "accepted by SD", "count"),
        _column("decided", "decided", "count"),
        _column("mean_draft_entropy", "H draft", "number"),
        _column("mean_target_entropy", "H target", "number"),
        _column("mean_offset", "place in text", "number", digits=0),
    ]
    return _table("which-tokens", columns, calibrate.token_table(data, gate))


def shift_rows(data: replay.GateArrays, gate: Gate, names: Sequence[str]) -> dict[str, Any]:
    """How far from lossless each run's gate takes it."""
    columns = [
        _column("name", "run", "text"),
        _column("gated", "gated", "count"),
        _column("at_gated", "Σ TV at gated", "number"),
        _column("open", "open positions", "count"),
        _column("at_open", "Σ TV at open", "number"),
        _column("per_token", "mean TV per token", "number", digits=4),
        _column("largest", "largest TV", "number"),
    ]
    rows = [
        {"name": names[row.trace], "per_token": row.at_open / row.decided, **_fields(row)} for row in calibrate.shift(data, gate)
    ]
    return {"name": "distribution-shift", "columns": columns, "rows": [[r[c["key"]] for c in columns] for r in rows]}


def _column(key: str, label: str, kind: str, digits: int = 2) -> dict[str, Any]:
    return {"key": key, "label": label, "kind": kind, "digits": digits}


def _fields(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in type(row).__slots__}


def _table(name: str, columns: Sequence[Mapping[str, Any]], rows: Sequence[Any]) -> dict[str, Any]:
    return {"name": name, "columns": list(columns), "rows": [[getattr(row, c["key"]) for c in columns] for row in rows]}


# ---- sentences and comparisons, as HTML --------------------------------------------------------------------


def calibration_html(found: calibrate.Calibration) -> str:
    """The thresholds that were found, with what they rest on."""
    rate = "undefined" if found.gate_rate is None else f"{100 * found.gate_rate:.1f} %"
    rows = [
        ("τ draft", f"{found.draft_threshold:.3f} nats", _interval(found.draft_interval, 1, 3)),
        ("τ target", f"{found.target_threshold:.3f} nats", _interval(found.target_interval, 1, 3)),
        ("gate rate", rate, _interval(found.gate_rate_interval, 100, 1, " %")),
    ]
    body = "".join(
        f"<tr><th>{name}</th><td><b>{value}</b></td><td>{escape(interval)}</td></tr>" for name, value, interval in rows
    )
    traces = f"{found.traces} {'trace' if found.traces == 1 else 'traces'}"
    return (
        f'<table class="ez-found">{body}</table><p class="ez-quiet">Percentile {found.percentile:g} of both entropies over '
        f"n = {found.tokens} drafted tokens on the path of {traces} (discarded ones and the prompt left out). The gate rate is "
        f"{found.gated} of {found.accepted_by_sd} tokens that SD accepted, an estimate on the recorded path at k = {found.k}, "
        f"ρ = {found.overlap_threshold:g}.</p>"
    )


def _interval(ends: calibrate.Interval | None, scale: float, digits: int, unit: str = "") -> str:
    if ends is None:
        return "no interval from one trace"
    return f"{scale * ends[0]:.{digits}f} to {scale * ends[1]:.{digits}f}{unit} (95 % over traces)"


def fork_html(parent: str, name: str, trace: Trace) -> str:
    """What the branch is, in a sentence."""
    origin = trace.header.parent
    assert origin is not None
    changes = [
        f"{escape(key)} = {escape(f'{v:g}' if isinstance(v, (int, float)) else str(v))}" for key, v in origin.change.items()
    ]
    changes += [f"the verdict at position {position} forced to {outcome}" for position, outcome in origin.forced.items()]
    what = ", ".join(changes) or "nothing changed"
    return f"<p><b>{escape(name)}</b> leaves <b>{escape(parent)}</b> at round {origin.step}: {what}.</p>"


def problem_html(text: str) -> str:
    return f'<p class="ez-problem" role="alert">{escape(text)}</p>'


def comparison_html(parent: Trace, branch: Trace) -> str:
    """Parent and branch, metric by metric; rates with their counts on hover."""
    before, after = (metrics.rows(metrics.summarise(t)) for t in (parent, branch))
    after_by_key = {row.key: row for row in after}
    body = []
    for row in before:
        if row.key.startswith("conditional") or row.key not in after_by_key:
            continue
        other = after_by_key[row.key]
        body.append(f"<tr><th>{escape(row.label)}</th>{_cell(row)}{_cell(other)}<td>{_difference(row, other)}</td></tr>")
    head = "<tr><th></th><th>parent</th><th>branch</th><th>difference</th></tr>"
    return f'<div class="ez-scroll"><table class="ez-compare">{head}{"".join(body)}</table></div>'


def _cell(row: metrics.Row) -> str:
    return f'<td title="{escape(row.counts)}">{escape(row.text)}</td>'


def _difference(before: metrics.Row, after: metrics.Row) -> str:
    if before.value is None or after.value is None:
        return "–"
    change = after.value - before.value
    return f"{100 * change:+.1f} points" if before.unit == "%" else f"{change:+.2f}"
