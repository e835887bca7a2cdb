// The gate plane: every decided token at (draft entropy, target entropy), its overlap as its size, the gated region shaded.

import { fixed, visibleText } from "../dom.js";
import { colour, lightColour, lightTint } from "../palette.js";
import { QUANTITIES } from "../store.js";
import { OUTCOME_WORDS } from "../words.js";
import { TraceChart, plain } from "./chart.js";

const MARKS = [
  ["rejected", "x", 0.62],
  ["accepted", "circle", 0.7],
  ["gated", "diamond", 0.9],
];

export class Plane extends TraceChart {
  static hears = ["trace", "steps", "gate", "select"];

  constructor(element, store, skeleton) {
    super(element, store, skeleton, { title: "Gate plane", aside: "size = overlap", label: "Gate plane: draft entropy against target entropy of every decided token" });
  }

  data(layout) {
    const { store } = this;
    const shown = store.entries.filter((e) => e.drafted && e.token.target_top && (e.recorded !== "discarded" || e.outcome !== "discarded"));
    const traces = MARKS.map(([outcome, symbol, opacity]) => this.#marks(outcome, symbol, opacity, shown));
    const selected = shown.filter((e) => e.key === store.selected);
    traces.push({
      type: "scatter",
      mode: "markers",
      hoverinfo: "skip",
      x: selected.map((e) => e.token.draft_entropy),
      y: selected.map((e) => e.token.target_entropy),
      marker: { size: 19, color: "rgba(0,0,0,0)", line: { width: 2, color: colour("ink") } },
    });
    this.#region(layout, shown);
    return traces;
  }

  #marks(outcome, symbol, opacity, shown) {
    const here = shown.filter((e) => e.outcome === outcome);
    const { gate } = this.store;
    return {
      type: "scatter",
      mode: "markers",
      x: here.map((e) => e.token.draft_entropy),
      y: here.map((e) => e.token.target_entropy),
      customdata: here.map((e) => e.key),
      text: here.map((e) => `<b>${plain(visibleText(e.token))}</b><br>${OUTCOME_WORDS[outcome]}<br>overlap ${fixed(QUANTITIES.overlap.of(e, gate), 2)}`),
      hovertemplate: "%{text}<br>H draft %{x:.2f}, H target %{y:.2f}<extra></extra>",
      marker: {
        symbol,
        color: colour(outcome),
        opacity: here.map((e) => (e.region === "counterfactual" ? 0.18 : opacity)),
        size: here.map((e) => 5 + 8 * QUANTITIES.overlap.of(e, gate)),
        line: { width: symbol === "diamond" ? 1 : 0, color: colour("bg") },
      },
    };
  }

  #region(layout, shown) {
    const { draft_threshold: left, target_threshold: low } = this.store.gate;
    const most = (name) => 1.06 * Math.max(1, ...shown.map((e) => e.token[name]));
    const right = most("draft_entropy");
    const high = most("target_entropy");
    layout.xaxis.range = [0, right];
    layout.yaxis.range = [0, high];
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
