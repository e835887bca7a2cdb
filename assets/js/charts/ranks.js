// Rank × position: how likely each model found its first, second, … twentieth token, at every place of the text.
// Nothing here follows a knob but the dashed line at k, so the heatmaps are made once per number of tokens.

import { probability, visibleText } from "../dom.js";
import { COLORSCALE, lightColour } from "../palette.js";
import { placeOf, selection } from "./along.js";
import { TraceChart, Zoom, plain } from "./chart.js";

const RANKS = 20;
const DECADES = 4; // the colour runs from 1 down to 10^-4

export class Ranks extends TraceChart {
  static hears = ["trace", "steps", "gate", "select"];
  #heat = { key: null };
  #k = null; // as it is drawn

  constructor(element, store, skeleton) {
    super(element, store, skeleton, {
      title: "Top tokens by rank",
      aside: "colour: probability, 1 bright to 0.0001 dark · dashes: k",
      label: "Probability of each model’s top tokens, rank by position",
    });
    Zoom.of(store).join(this.plot);
  }

  data(layout) {
    const { store } = this;
    const place = placeOf(store);
    const key = `${store.generation}/${store.entries.length}`;
    if (this.#heat.key !== key) {
      const decided = store.entries.filter((e) => e.drafted && e.recorded !== "discarded");
      this.#heat = { key, traces: [this.#trace(decided, place, "draft_top", "y", "q"), this.#trace(decided, place, "target_top", "y2", "p")] };
    }
    Zoom.of(store).apply(layout, this.#heat.traces[0].z[0].length, store.generation);
    for (const [axis, y, name] of [["y", 1, "Draft"], ["y2", 0.46, "Target"]]) {
      const line = { color: "white", width: 1.5, dash: "dash" }; // on the scale's own colours, the same in both themes
      layout.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, yref: axis, y0: store.gate.k + 0.5, y1: store.gate.k + 0.5, line });
      layout.annotations.push({ text: `${name}’s top ${RANKS}`, xref: "paper", yref: "paper", x: 0, y, xanchor: "left", yanchor: "bottom", showarrow: false, font: { size: 11.5, color: lightColour("mute") } });
    }
    selection(layout, store, place);
    this.#k = store.gate.k;
    return this.#heat.traces;
  }

  changes(what) {
    const onlyOtherKnobs = what.size === 1 && what.has("gate") && this.store.gate?.k === this.#k;
    return super.changes(what) && !onlyOtherKnobs;
  }

  #trace(decided, place, name, yaxis, symbol) {
    const last = decided.length ? place(decided[decided.length - 1]) : 0;
    const rows = () => Array.from({ length: RANKS }, () => new Array(last).fill(null));
    const [z, text, hovertext, customdata] = [rows(), rows(), rows(), rows()];
    for (const entry of decided) {
      const column = place(entry) - 1;
      (entry.token[name] ?? []).slice(0, RANKS).forEach(([, word, prob], rank) => {
        z[rank][column] = Math.max(-DECADES, Math.log10(prob));
        text[rank][column] = plain(visibleText({ text: word }));
        hovertext[rank][column] = probability(prob);
        customdata[rank][column] = entry.key;
      });
    }
    const tone = { colorscale: COLORSCALE, zmin: -DECADES, zmax: 0, showscale: false, hoverongaps: false };
    const hovertemplate = `<b>%{text}</b><br>rank %{y}, ${symbol} = %{hovertext}<extra></extra>`;
    return { ...tone, type: "heatmap", z, text, hovertext, customdata, x0: 1, dx: 1, y0: 1, dy: 1, yaxis, hovertemplate };
  }
}
