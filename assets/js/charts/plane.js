// The gate plane: every decided token at (draft entropy, target entropy), its overlap as its size, the gated region shaded.

import { fixed, visibleText } from "../dom.js";
import { colour, lightColour, lightTint, tint } from "../palette.js";
import { QUANTITIES } from "../store.js";
import { TraceChart, plain } from "./chart.js";

const SYMBOLS = { rejected: ["x", 0.62], accepted: ["circle", 0.7], gated: ["diamond", 0.95], discarded: ["circle-open", 0.5] };

export class Plane extends TraceChart {
  static hears = ["trace", "steps", "gate", "select"];
  #points = { key: null };
  #drawn = null; // the marks' looks as they are drawn

  constructor(element, store, skeleton) {
    super(element, store, skeleton, { title: "Gate plane", aside: "size = overlap", label: "Gate plane: draft entropy against target entropy of every decided token" });
  }

  data(layout) {
    const { store } = this;
    const points = this.#kept();
    layout.xaxis.range = [0, points.ends[0]];
    layout.yaxis.range = [0, points.ends[1]];
    this.lines(layout);
    const ring = points.entries.filter((e) => e.key === store.selected);
    return [
      this.#marks(points),
      {
        type: "scatter",
        mode: "markers",
        hoverinfo: "skip",
        x: ring.map((e) => e.token.draft_entropy),
        y: ring.map((e) => e.token.target_entropy),
        marker: { size: 19, color: "rgba(0,0,0,0)", line: { width: 2, color: colour("ink") } },
      },
    ];
  }

  restyle() {
    const before = this.#drawn;
    if (before?.points !== this.#kept()) return false;
    this.#drawn = this.#looks(before.points);
    return this.restyleMarks(0, before, this.#drawn);
  }

  /** What no threshold changes, as the very same arrays: plotly then restyles points where it would have to place them anew. */
  #kept() {
    const { store } = this;
    const key = `${store.generation}/${store.entries.length}/${store.gate.k}`;
    if (this.#points.key === key) return this.#points;
    const entries = store.entries.filter((e) => e.drafted && e.token.target_top && e.recorded !== "discarded");
    const overlaps = entries.map((e) => QUANTITIES.overlap.of(e, store.gate));
    const x = entries.map((e) => e.token.draft_entropy);
    const y = entries.map((e) => e.token.target_entropy);
    this.#points = {
      key,
      entries,
      x,
      y,
      ends: [x, y].map((values) => 1.06 * values.reduce((a, b) => Math.max(a, b), 1)),
      customdata: entries.map((e) => e.key),
      text: entries.map((e, i) => `<b>${plain(visibleText(e.token))}</b>, recorded as ${e.recorded}<br>overlap ${fixed(overlaps[i], 2)}`),
      size: overlaps.map((overlap) => 5 + 8 * overlap),
    };
    return this.#points;
  }

  #looks(points) {
    const { entries, size } = points;
    const inks = (opacityOf) => Object.fromEntries(Object.entries(SYMBOLS).map(([name, look]) => [name, tint(name, opacityOf(look))]));
    const [full, faint] = [inks(([, opacity]) => opacity), inks(() => 0.18)];
    return {
      points,
      size,
      symbol: entries.map((e) => SYMBOLS[e.outcome][0]),
      color: entries.map((e) => (e.region === "counterfactual" ? faint : full)[e.outcome]),
    };
  }

  #marks(kept) {
    const { x, y, customdata, text } = kept;
    this.#drawn = this.#looks(kept);
    const { points, ...looks } = this.#drawn;
    return {
      type: "scatter",
      mode: "markers",
      x,
      y,
      customdata,
      text,
      hovertemplate: "%{text}<br>H draft %{x:.2f}, H target %{y:.2f}<extra></extra>",
      marker: { ...looks, line: { width: 0 } },
    };
  }

  /** The thresholds, and the gated region between them and the far corner. */
  lines(layout) {
    const { draft_threshold: left, target_threshold: low } = this.store.gate;
    const [right, high] = this.#points.ends;
    const line = { color: lightColour("gated"), width: 1.5, dash: "dash" };
    const label = { showarrow: false, font: { size: 11, color: lightColour("gated") } };
    if (left < right && low < high) {
      layout.shapes.push({ type: "rect", layer: "below", x0: left, x1: 99, y0: low, y1: 99, line: { width: 0 }, fillcolor: lightTint("gated", 0.1) });
    }
    if (left < right) {
      layout.shapes.push({ type: "line", x0: left, x1: left, y0: 0, y1: 1, yref: "paper", line });
      layout.annotations.push({ ...label, x: left, y: 1, yref: "paper", xanchor: "left", yanchor: "top", text: ` τ draft ${fixed(left, 2)}` });
    }
    if (low < high) {
      layout.shapes.push({ type: "line", y0: low, y1: low, x0: 0, x1: 1, xref: "paper", line });
      layout.annotations.push({ ...label, y: low, x: 1, xref: "paper", xanchor: "right", yanchor: "bottom", text: `τ target ${fixed(low, 2)}` });
    }
  }
}
