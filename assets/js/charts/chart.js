// What the charts of a trace share: a heading, the figure from Python as the base, and the store's selection.

import { h } from "../dom.js";
import { imageButtons } from "../images.js";
import { themed } from "../palette.js";
import { Plot } from "../plot.js";
import { moveLines } from "./lines.js";
import { restylePoints } from "./points.js";

const NO_LINES = () => ({ shapes: [], annotations: [] });

export class TraceChart {
  /** Which news of the store change this chart. */
  static hears = ["trace", "steps", "gate", "select", "style"];

  constructor(element, store, skeleton, { title, aside = "", label }) {
    this.store = store;
    this.skeleton = skeleton;
    this.heading = h("div.ez-head", {}, h("h2", {}, title), h("span.ez-aside", {}, aside));
    this.frame = h("div.ez-chart");
    element.append(this.heading, this.frame);
    this.plot = new Plot(this.frame, label, skeleton.layout.height, () => this.#figure(), (point) => this.#clicked(point));
    this.plot.plot.addEventListener("keydown", (event) => this.#key(event));
    this.heading.append(imageButtons(this.plot, title));
    store.subscribe((what) => {
      if (!this.changes(what)) return;
      if (what.size === 1 && what.has("gate")) this.plot.restyled(() => this.restyle());
      else if (what.size === 1 && what.has("steps") && !store.trace.foot) this.plot.follow();
      else this.plot.redraw();
    });
    this.plot.redraw();
  }

  #figure() {
    const layout = { ...structuredClone(this.skeleton.layout), ...NO_LINES() };
    layout.uirevision = `${this.store.generation}`; // zoom lives as long as the trace
    const data = this.store.trace ? this.data(layout) : [];
    return { data, layout: themed(layout) };
  }

  /** Whether this news of the store's changes what is drawn. */
  changes(what) {
    return this.constructor.hears.some((each) => what.has(each));
  }

  /** After a knob moved: change what is drawn in place; false where plotly has to draw it. */
  restyle() {
    return false;
  }

  /** `restyle` for a chart of a mark per token (plotly's trace `index`) and lines: `before` and `after` are the marks' looks. */
  restyleMarks(index, before, after) {
    if (!before || !restylePoints(this.plot.plot, index, before, after)) return false;
    const layout = NO_LINES();
    this.lines(layout);
    return moveLines(this.plot.plot, layout);
  }

  /** Traces for plotly, in the present theme's colours; `layout` (light colours) may be added to. */
  data() {
    throw new Error("a chart must say what it shows");
  }

  /** Adds the shapes and annotations that follow knobs and selection to a layout (light colours). */
  lines() {}

  /** An entry's key at a clicked point, or null. */
  keyAt(point) {
    return point.customdata ?? null;
  }

  #clicked(point) {
    const key = this.keyAt(point);
    if (key) this.store.select(key);
  }

  /** Arrow keys walk the selection through the text, from a chart as in the text itself. */
  #key(event) {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!steps || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const shown = this.store.visible();
    const at = shown.findIndex((entry) => entry.key === this.store.selected);
    const next = shown[at < 0 ? 0 : at + steps];
    if (next) this.store.select(next.key);
  }
}

const zooms = new Map();

/** The positions that the charts of a store show together: a zoom in one is a zoom in all, and lives as long as the trace. */
export class Zoom {
  static of(store) {
    if (!zooms.has(store.name)) zooms.set(store.name, new Zoom());
    return zooms.get(store.name);
  }

  #range = null; // null: everything
  #generation = -1;
  #plots = new Set();

  join(plot) {
    this.#plots.add(plot);
    plot.onRelayout = (change) => {
      const range = change["xaxis.range"] ?? [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      const moved = range[0] !== undefined;
      if (!moved && !change["xaxis.autorange"]) return;
      this.#range = moved ? [...range] : null;
      for (const each of this.#plots) each.redraw();
    };
  }

  /** Set a layout's x axis, whose tokens are 1 to `last`. */
  apply(layout, last, generation) {
    if (generation !== this.#generation) this.#range = null;
    this.#generation = generation;
    layout.xaxis.autorange = false;
    layout.xaxis.range = this.#range ? [...this.#range] : [0.5, Math.max(last, 10) + 0.5];
    layout.xaxis.uirevision = layout.xaxis.range.join(); // ours to keep, not plotly's
  }
}

/** Hover text is markup to plotly: a token must not be. Plotly knows few tags, and no way to escape but entities. */
export function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
