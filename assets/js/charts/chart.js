// What the charts of a trace share: a heading, the figure from Python as the base, and the store's selection.

import { h } from "../dom.js";
import { themed } from "../palette.js";
import { Plot } from "../plot.js";

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
    store.subscribe((what) => {
      if (this.constructor.hears.some((each) => what.has(each))) this.plot.redraw();
    });
    this.plot.redraw();
  }

  #figure() {
    const layout = structuredClone(this.skeleton.layout);
    layout.uirevision = `${this.store.generation}`; // zoom lives as long as the trace
    layout.shapes = [];
    layout.annotations = [];
    const data = this.store.trace ? this.data(layout) : [];
    return { data, layout: themed(layout) };
  }

  /** Traces for plotly, in the present theme's colours; `layout` (light colours) may be added to. */
  data() {
    throw new Error("a chart must say what it shows");
  }

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

const linked = new Map();

/** Plots of one store that show the same positions zoom and pan together. */
export function linkZoom(plot, store) {
  if (!linked.has(store)) linked.set(store, new Set());
  const group = linked.get(store);
  group.add(plot);
  plot.onRelayout = (change) => {
    const range = change["xaxis.range"] ?? (change["xaxis.range[0]"] !== undefined ? [change["xaxis.range[0]"], change["xaxis.range[1]"]] : null);
    if (!range && !change["xaxis.autorange"]) return;
    for (const other of group) {
      const axis = other.plot.layout?.xaxis;
      if (other === plot || !axis) continue;
      if (range && (axis.range[0] !== range[0] || axis.range[1] !== range[1])) window.Plotly.relayout(other.plot, { "xaxis.range": [...range] });
      if (!range && !axis.autorange) window.Plotly.relayout(other.plot, { "xaxis.autorange": true });
    }
  };
}

/** Hover text is markup to plotly: a token must not be. Plotly knows few tags, and no way to escape but entities. */
export function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
