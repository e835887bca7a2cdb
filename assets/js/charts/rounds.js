// Rounds × draft index: a row per round, the token in each cell, coloured by what the text is coloured by.
// Discarded and counterfactual cells are faint. A window of rows is in view; wheel, drag and keys move it, and it follows a run.

import { fixed, visibleText } from "../dom.js";
import { GLYPHS, COLORSCALE, colour, faint, lightColour } from "../palette.js";
import { QUANTITIES } from "../store.js";
import { OUTCOME_WORDS } from "../words.js";
import { TraceChart, plain } from "./chart.js";

const OUTCOMES = ["accepted", "rejected", "gated", "discarded"];
const MARGIN = 5; // rows that are drawn above and below those in view
const FAINT = 1.001; // how much further on the colour scale the faint cells are
const OPACITY = 0.2; // of the faint ones
const WASH = 0.55; // of the outcomes' colours, so that the page's ink can be read on them
const CHARACTERS = 9; // of a token that fit a cell of four columns

export class Rounds extends TraceChart {
  #top = 0;
  #rows;
  #near = [0, 0];
  #generation = -1;
  #count = 0;
  #shownSelection = null;
  #drawn = "";

  constructor(element, store, skeleton) {
    super(element, store, skeleton, { title: "Rounds × draft index", aside: "", label: "Rounds by draft index, one cell per drafted token" });
    this.aside = this.heading.querySelector(".ez-aside");
    this.plot.onRelayout = () => this.#moved();
    this.plot.plot.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  data(layout) {
    const { store } = this;
    const { rounds, head } = store.trace;
    const gamma = Math.max(1, ...rounds.map((round) => round.drafted.length), head.config.mode === "target" ? 1 : head.config.gamma);
    this.aside.textContent = `colour: ${QUANTITIES[store.colour].label}`;
    layout.xaxis.range = [0.5, gamma + 0.5];
    this.#window(layout, rounds.length);
    this.#frame(layout);
    // Plotly lays out the text of every cell it is given, in view or not.
    const [bottom, top] = layout.yaxis.range;
    this.#near = [Math.max(0, Math.floor(top) - MARGIN), Math.min(rounds.length, Math.ceil(bottom) + MARGIN)];
    const cells = this.#cells(gamma);
    this.#drawn = this.#seen(cells);
    return [cells];
  }

  /** Most moves of a knob change nothing in the rows that are drawn. */
  restyle() {
    const gamma = this.plot.plot.data?.[0]?.z[0]?.length ?? 0;
    return this.#drawn === this.#seen(this.#cells(gamma));
  }

  #seen({ z, text, colorscale }) {
    return JSON.stringify([z, text, colorscale]);
  }

  /** Cells off the path and counterfactual ones are a scale's length further on the colour scale, where it is faint. */
  #cells(gamma) {
    const { store } = this;
    const { place, colorscale } = this.#scale();
    const [from, to] = this.#near;
    const rows = (blank) => Array.from({ length: to - from }, () => new Array(gamma).fill(blank));
    const [z, text, hovertext, customdata] = [rows(null), rows(""), rows(""), rows(null)];
    for (const entry of store.entries) {
      if (!entry.drafted || entry.round < from || entry.round >= to) continue;
      const isFaint = entry.outcome === "discarded" || entry.region === "counterfactual";
      const value = this.#value(entry);
      if (value === null) continue;
      const [r, c] = [entry.round - from, entry.token.draft_index - 1];
      z[r][c] = place(value) + (isFaint ? FAINT : 0);
      text[r][c] = this.#label(entry, gamma);
      hovertext[r][c] = this.#hover(entry);
      customdata[r][c] = entry.key;
    }
    return {
      type: "heatmap",
      showscale: false,
      xgap: 2,
      ygap: 2,
      hoverongaps: false,
      hovertemplate: "%{hovertext}<extra></extra>",
      textfont: { size: 11, ...(this.store.colour === "outcome" && { color: colour("ink") }) }, // on a scale plotly finds one
      texttemplate: gamma <= 8 ? "%{text}" : "",
      ...{ zmin: 0, zmax: 1 + FAINT, colorscale },
      ...{ z, text, hovertext, customdata, x0: 1, dx: 1, y0: from, dy: 1 },
    };
  }

  /** {place: value -> 0 to 1, colorscale over 0 to 1 + FAINT: the scale, and from FAINT on the same scale faint}. */
  #scale() {
    const { store } = this;
    const stops = store.colour === "outcome" ? OUTCOMES.flatMap((name, i) => [[i / 4, colour(name)], [(i + 1) / 4, colour(name)]]) : COLORSCALE;
    const [low, high] = store.colour === "outcome" ? [-0.5, OUTCOMES.length - 0.5] : store.range(store.colour);
    const wash = store.colour === "outcome" ? WASH : 1;
    const both = [...stops.map(([at, hex]) => [at, faint(hex, wash)]), ...stops.map(([at, hex]) => [at + FAINT, faint(hex, OPACITY)])];
    return {
      place: (value) => Math.min(Math.max((value - low) / (high - low), 0), 1),
      colorscale: both.map(([at, tone]) => [at / (1 + FAINT), tone]),
    };
  }

  #value(entry) {
    const { store } = this;
    return store.colour === "outcome" ? OUTCOMES.indexOf(entry.outcome) : QUANTITIES[store.colour].of(entry, store.gate);
  }

  #label(entry, gamma) {
    const mark = entry.outcome === "rejected" || entry.outcome === "gated" ? `${GLYPHS[entry.outcome]} ` : "";
    const most = Math.max(2, Math.round((CHARACTERS * 4) / gamma));
    const word = visibleText({ ...entry.token, text: entry.token.text.replace(/^ /, "") });
    return plain(mark + (word.length > most ? `${word.slice(0, most - 1)}…` : word));
  }

  #hover(entry) {
    const { store } = this;
    const value = store.colour === "outcome" ? "" : `<br>${QUANTITIES[store.colour].label} ${fixed(this.#value(entry), 2)}`;
    return `<b>${plain(visibleText(entry.token))}</b><br>${OUTCOME_WORDS[entry.outcome]}${value}<br>round ${entry.round}, draft ${entry.token.draft_index}`;
  }

  // ---- which rows are in view -----------------------------------------------------------------------------------

  #window(layout, count) {
    const [bottom, top] = this.skeleton.layout.yaxis.range;
    this.#rows = bottom - top;
    const { store } = this;
    if (store.generation !== this.#generation) {
      this.#generation = store.generation;
      this.#top = 0;
      this.#count = count;
    }
    const live = this.plot.plot.layout?.yaxis?.range; // where a drag or a zoom left it
    let view = live && this.plot.plot.layout.uirevision === layout.uirevision ? [live[1], live[0]] : [-0.5, this.#rows - 0.5];
    const height = view[1] - view[0];
    if (count > this.#count && view[1] >= this.#count - 1.5) view = this.#clamp(count - 0.5 - height, height, count);
    this.#count = count;
    const entry = store.find(store.selected);
    if (entry && entry.key !== this.#shownSelection && (entry.round < view[0] || entry.round > view[1])) {
      view = this.#clamp(entry.round - height / 2, height, count);
    }
    this.#shownSelection = entry?.key ?? null;
    layout.yaxis.range = [view[1], view[0]];
    layout.yaxis.uirevision = String(view[0]) + view[1];
  }

  #clamp(top, height, count) {
    const low = Math.max(-0.5, Math.min(top, count - 0.5 - height));
    return [low, low + height];
  }

  #wheel(event) {
    const { plot } = this.plot;
    const range = plot.layout?.yaxis?.range;
    const count = this.store.trace?.rounds.length ?? 0;
    if (!range || event.ctrlKey) return;
    const height = range[0] - range[1];
    const [top, bottom] = this.#clamp(range[1] + event.deltaY / 21, height, count);
    if (top === range[1]) return; // at an end: the page scrolls on
    event.preventDefault();
    this.plot.relayout({ "yaxis.range": [bottom, top] });
  }

  /** After a drag or the wheel: rows that were not drawn may be in view. */
  #moved() {
    const [bottom, top] = this.plot.plot.layout.yaxis.range;
    const [from, to] = this.#near;
    const missing = (top < from - 0.5 && from > 0) || (bottom > to - 0.5 && to < this.store.trace.rounds.length);
    if (missing) this.plot.redraw();
  }

  #frame(layout) {
    const entry = this.store.find(this.store.selected);
    if (!entry) return;
    const [x0, x1] = entry.drafted ? [entry.token.draft_index - 0.5, entry.token.draft_index + 0.5] : layout.xaxis.range;
    layout.shapes.push({ type: "rect", x0, x1, y0: entry.round - 0.5, y1: entry.round + 0.5, line: { width: 2, color: lightColour("ink") } });
  }
}
