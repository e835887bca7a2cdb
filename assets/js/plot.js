// A plotly figure that lives through updates: drawn with Plotly.react, in the theme's colours, only while it can be seen.

import { h } from "./dom.js";
import { imageButtons } from "./images.js";
import { follow } from "./pace.js";
import { onTheme, themed } from "./palette.js";
import { plotly } from "./plotly.js";

const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: "autosize" };

const CALM_MS = 400;

const onScreen = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    target.easdPlot.visible = isIntersecting;
    if (isIntersecting) target.easdPlot.settle();
  }
}, { rootMargin: "200px" });

export class Plot {
  #dirty = true;
  #drawing = false;
  #plotly = null; // once it is there
  #calm = null; // the timer of the draw that follows restyling
  #connected = false;
  onRelayout = null; // called after the visitor, or a script, moved an axis

  /**
   * @param height in px
   * @param make () -> {data, layout} in light colours, or null for nothing
   * @param onClick called with a clicked point
   */
  constructor(element, label, height, make, onClick = () => {}) {
    this.make = make;
    this.onClick = onClick;
    this.visible = false;
    this.plot = h("div.ez-plot", { tabindex: 0, role: "group", "aria-label": label });
    this.plot.style.height = `${height}px`; // before it is drawn too, so that nothing jumps
    this.plot.easdPlot = this;
    element.append(this.plot);
    onScreen.observe(this.plot);
    onTheme(() => this.redraw());
  }

  redraw() {
    this.#dirty = true;
    if (this.visible) this.settle();
  }

  /** A redraw that can wait its turn: more of the same follows. */
  follow() {
    this.#dirty = true;
    if (this.visible) follow(this);
  }

  /** `restyle()` changes what is drawn in place, or returns false where it can't. Plotly draws it all once no more of them follow. */
  restyled(restyle) {
    this.#dirty ||= this.#drawing || !this.visible || !this.#connected || !restyle();
    if (this.#dirty) return this.redraw();
    clearTimeout(this.#calm);
    this.#calm = setTimeout(() => this.redraw(), CALM_MS);
  }

  /** Draw if something changed. A draw that is asked for during another one follows it. */
  async settle() {
    if (!this.#dirty || this.#drawing || !this.plot.clientWidth) return;
    this.#drawing = true;
    try {
      this.#plotly ??= await plotly();
      clearTimeout(this.#calm);
      const figure = this.make();
      this.#dirty = false;
      if (figure) await this.#plotly.react(this.plot, figure.data, figure.layout, CONFIG);
      if (figure) this.#connect();
    } finally {
      this.#drawing = false;
    }
    if (this.#dirty) this.settle();
  }

  /** Parts of the layout, at once. */
  relayout(change) {
    this.#plotly.relayout(this.plot, change);
  }

  /** A draw is wanted or under way. */
  get busy() {
    return this.#drawing || (this.#dirty && this.visible);
  }

  #connect() {
    if (this.#connected) return;
    this.#connected = true;
    this.plot.on("plotly_click", (event) => event.points.length && this.onClick(event.points[0]));
    this.plot.on("plotly_relayout", (change) => this.onRelayout?.(change));
  }
}

/** A figure from Python (a go.Figure as JSON), shown as it is; the panel behind ui/components.PlotPanel. */
export class Figure {
  constructor(element, label, figure, onSelect) {
    this.figure = figure;
    const frame = h("div.ez-figure");
    element.append(frame);
    this.plot = new Plot(frame, label, figure?.layout.height ?? 320, () => this.figure && themed(this.figure), onSelect);
    frame.append(imageButtons(this.plot, label));
    this.plot.redraw();
  }

  set(figure) {
    this.figure = figure;
    if (figure?.layout.height) this.plot.plot.style.height = `${figure.layout.height}px`;
    this.plot.redraw();
  }
}
