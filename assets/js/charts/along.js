// Along the text: both entropies with their thresholds and marks, one x position per token of the text.

import { fixed, h, visibleText } from "../dom.js";
import { colour, lightColour, tint } from "../palette.js";
import { TraceChart, Zoom, plain } from "./chart.js";

const MANY = 300; // positions above which the lines lose their dots

const SIZES = { rejected: 6, gated: 8 }; // of the marks; others are not seen

export class Along extends TraceChart {
  static hears = ["trace", "steps", "gate", "select"];
  #lines = { key: null };
  #shown = null; // the marks' looks as they are drawn

  constructor(element, store, skeleton) {
    super(element, store, skeleton, {
      title: "Along the text",
      aside: "",
      label: "Along the text: entropies with thresholds and marks",
    });
    this.aside = this.heading.querySelector(".ez-aside");
    Zoom.of(store).join(this.plot);
  }

  data(layout) {
    const { store } = this;
    const place = placeOf(store);
    this.lines(layout);
    // The very same arrays as long as no token came: plotly then leaves the lines as they are.
    const key = `${store.generation}/${store.entries.length}`;
    if (this.#lines.key !== key) {
      const path = this.#path();
      const decided = path.filter((e) => e.drafted && e.token.target_top);
      const marks = { entries: decided, x: decided.map(place), y: decided.map((e) => e.token.target_entropy), customdata: decided.map((e) => e.key), text: decided.map((e) => plain(visibleText(e.token))) };
      const top = 1.06 * path.reduce((most, { token }) => Math.max(most, token.draft_entropy ?? 0, token.target_entropy ?? 0), 1);
      this.#lines = { key, top, draft: this.#line("draft_entropy", path, place), target: this.#line("target_entropy", path, place), marks };
    }
    layout.yaxis.range = [0, this.#lines.top]; // fixed: a threshold's line is then moved without a look at the data
    this.#legend();
    Zoom.of(store).apply(layout, this.#lines.target.x.at(-1) ?? this.#lines.draft.x.at(-1) ?? 0, store.generation);
    const mode = this.#lines.draft.x.length > MANY ? "lines" : "lines+markers";
    return [
      this.#drawn(this.#lines.draft, "H draft", "bonus", "dot", mode),
      this.#drawn(this.#lines.target, "H target", "residual", "solid", mode),
      this.#marks(),
    ];
  }

  restyle() {
    const before = this.#shown;
    if (before?.entries !== this.#lines.marks?.entries) return false;
    this.#legend();
    this.#shown = this.#looks(before.entries);
    return this.restyleMarks(2, before, this.#shown);
  }

  /** One token per position: the one that was decided on there, or what was emitted where there was no draft. */
  #path() {
    const decided = this.store.entries.filter((e) => e.drafted && e.recorded !== "discarded");
    const has = new Set(decided.map((e) => e.token.position));
    const undrafted = this.store.entries.filter((e) => !e.drafted && !has.has(e.token.position));
    return [...decided, ...undrafted].sort((a, b) => a.n - b.n);
  }

  #line(name, path, place) {
    const line = { x: [], y: [], customdata: [], text: [] };
    let before = null;
    for (const entry of path) {
      const value = entry.token[name];
      if (value === undefined || value === null) continue;
      const at = place(entry);
      if (before !== null && at > before + 1) push(line, null, null, null, ""); // a gap where a bonus token has no draft
      push(line, at, value, entry.key, plain(visibleText(entry.token)));
      before = at;
    }
    return line;
  }

  #drawn(line, name, tone, dash, mode) {
    return {
      ...line,
      type: "scatter",
      mode,
      name,
      connectgaps: false,
      line: { color: colour(tone), width: 1.6, dash },
      marker: { color: colour(tone), size: 3.5 },
      hovertemplate: `<b>%{text}</b><br>${name} %{y:.2f} nats<extra></extra>`,
    };
  }

  /** Every decided token has a mark, unseen where it was accepted: a knob then only restyles them. */
  #marks() {
    const { entries, ...points } = this.#lines.marks;
    this.#shown = this.#looks(entries);
    const { symbol, size, color } = this.#shown;
    return {
      ...points,
      type: "scatter",
      mode: "markers",
      hoverinfo: "skip", // the line under it says the same
      marker: { symbol, size, color, line: { width: 0 } },
    };
  }

  #looks(entries) {
    const full = { rejected: tint("rejected", 0.8), gated: tint("gated", 1) };
    const faint = { rejected: tint("rejected", 0.25), gated: tint("gated", 0.25) };
    return {
      entries,
      symbol: entries.map((e) => (e.outcome === "gated" ? "diamond" : "x")),
      size: entries.map((e) => SIZES[e.outcome] ?? 0),
      color: entries.map((e) => (e.region === "counterfactual" ? faint : full)[e.outcome] ?? full.rejected),
    };
  }

  /** The thresholds, and a frame around the selected token. */
  lines(layout) {
    const { gate } = this.store;
    for (const [value, tone, dash] of [
      [gate.draft_threshold, "bonus", "dot"],
      [gate.target_threshold, "residual", "dash"],
    ]) {
      if (value === Infinity) continue;
      layout.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, yref: "y", y0: value, y1: value, line: { color: lightColour(tone), width: 1, dash } });
    }
    selection(layout, this.store, placeOf(this.store));
  }

  #legend() {
    const { gate } = this.store;
    const limit = (value) => (value === Infinity ? "closed" : fixed(value, 2));
    this.aside.replaceChildren(
      h("span.ez-key.bonus", {}, `┄ H draft, τ ${limit(gate.draft_threshold)}`),
      h("span.ez-key.residual", {}, `— H target, τ ${limit(gate.target_threshold)}`),
      h("span.ez-key.rejected", {}, "× rejected"),
      h("span.ez-key.gated", {}, "◆ gated"),
    );
  }
}

function push(line, x, y, key, text) {
  line.x.push(x);
  line.y.push(y);
  line.customdata.push(key);
  line.text.push(text);
}

/** An entry's place in the generated text, from 1. */
export function placeOf(store) {
  const start = store.trace.head.prompt.token_ids.length;
  return (entry) => entry.token.position - start + 1;
}

/** A frame around the selected token's column. */
export function selection(layout, store, place) {
  const entry = store.find(store.selected);
  if (!entry) return;
  const at = place(entry);
  layout.shapes.push({ type: "rect", xref: "x", yref: "paper", x0: at - 0.5, x1: at + 0.5, y0: 0, y1: 1, line: { width: 1.5, color: lightColour("ink") } });
}
