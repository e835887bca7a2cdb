// The gate plane of all traces that count: a mark per decided token, marginal histograms, the share of each quadrant, and the two
// thresholds as lines that are dragged or moved by arrow keys.

import { h, fixed, percent, visibleText } from "../dom.js";
import { plain } from "../charts/chart.js";
import { restylePoints } from "../charts/points.js";
import { colour, isDark, themed, tint } from "../palette.js";
import { Plot } from "../plot.js";
import { setKnob } from "./registry.js";

const MOST = 2500; // marks; of more tokens an even sample is drawn, the shares count all
const STEP = 0.05; // nats
const HIGHEST = 8; // as the sliders
const BIN = 0.25; // nats

const LOOKS = {
  r: { name: "rejected", symbol: "x", size: 6, opacity: 0.5 },
  a: { name: "accepted", symbol: "circle", size: 6, opacity: 0.6 },
  g: { name: "gated", symbol: "diamond", size: 8, opacity: 0.95 },
};
const AXES = [
  { name: "draft_threshold", id: "ez-tune-draft-threshold", axis: "xaxis", label: "τ draft", side: "x" },
  { name: "target_threshold", id: "ez-tune-target-threshold", axis: "yaxis", label: "τ target", side: "y" },
];
const QUADRANTS = [
  ["target", "target only"],
  ["both", "both unsure"],
  ["neither", "neither"],
  ["draft", "draft only"],
];

export class LabPlane {
  #points = null; // where the marks lie: no knob moves them
  #drawn = null; // {frame, marker} as plotly drew them, or as they were restyled since

  constructor(element, pool, skeleton) {
    this.pool = pool;
    this.skeleton = skeleton;
    this.aside = h("span.ez-aside");
    this.frame = h("div.ez-chart.ez-lab-plane");
    element.append(h("div.ez-head", {}, h("h2", {}, "Gate plane"), this.aside), this.frame);
    this.plot = new Plot(this.frame, "Gate plane: draft entropy against target entropy of every decided token that counts", skeleton.layout.height, () => this.#figure());
    this.region = h("div.ez-region", { "aria-hidden": "true" });
    this.quadrants = QUADRANTS.map(() => h("span"));
    this.inside = h("div.ez-inside", { hidden: true }, this.region, h("div.ez-quadrants", {}, this.quadrants));
    this.handles = AXES.map((axis) => this.#handle(axis));
    this.frame.append(this.inside, ...this.handles);
    pool.subscribe(() => this.plot.redraw());
    new ResizeObserver(() => this.#resized()).observe(this.frame);
    this.plot.redraw();
  }

  /** Plotly draws anew by itself, from what it knew. */
  #resized() {
    this.#drawn = null;
    this.plot.redraw();
    this.#place();
  }

  // ---- what is drawn --------------------------------------------------------------------------------------------

  /** Null where a restyling of the marks was enough: plotly takes a tenth of a second to draw a thousand. */
  #figure() {
    const { gate, sums, version } = this.pool;
    const layout = structuredClone(this.skeleton.layout);
    layout.uirevision = "lab";
    if (!gate || !sums.n) {
      this.#drawn = null;
      this.inside.hidden = true;
      for (const handle of this.handles) handle.hidden = true;
      return { data: [], layout: themed(layout) };
    }
    if (this.#points?.version !== version) this.#points = this.#collect();
    const marker = this.#marker();
    const frame = `${version} ${isDark()}`;
    const restyled = this.#drawn?.frame === frame && restylePoints(this.plot.plot, 0, this.#drawn.marker, marker);
    this.#drawn = { frame, marker };
    this.#shares();
    if (restyled) {
      this.#place();
      return null;
    }
    requestAnimationFrame(() => setTimeout(() => this.#place()));
    return this.#whole(layout, marker);
  }

  #collect() {
    const { traces, sums, version } = this.pool;
    const every = Math.max(1, Math.ceil(sums.n / MOST));
    const points = { version, every, x: [], y: [], text: [], of: [], ends: { x: 1, y: 1 }, bins: { x: [], y: [] } };
    let seen = 0;
    for (const trace of traces) {
      for (let i = 0; i < trace.n; i++) {
        const at = { x: trace.draft_entropy[i], y: trace.target_entropy[i] };
        for (const side of ["x", "y"]) {
          points.ends[side] = Math.max(points.ends[side], at[side]);
          const bin = Math.floor(at[side] / BIN);
          points.bins[side][bin] = (points.bins[side][bin] ?? 0) + 1;
        }
        if (seen++ % every) continue;
        points.x.push(at.x);
        points.y.push(at.y);
        points.of.push([trace, i]);
        points.text.push(plain(visibleText({ text: trace.text[i], bytes: trace.bytes[i] })));
      }
    }
    this.aside.textContent = every > 1 ? `1 in ${every} of ${sums.n.toLocaleString("en")} tokens` : "";
    return points;
  }

  #marker() {
    const inks = Object.fromEntries(Object.entries(LOOKS).map(([letter, { name, opacity }]) => [letter, tint(name, opacity)]));
    const now = this.#points.of.map(([trace, i]) => trace.now[i]);
    return {
      symbol: now.map((v) => LOOKS[v].symbol),
      size: now.map((v) => LOOKS[v].size),
      color: now.map((v) => inks[v]),
      line: { width: 0 },
    };
  }

  #whole(layout, marker) {
    const { x, y, text, ends, bins } = this.#points;
    layout.xaxis.range = [0, 1.06 * ends.x];
    layout.yaxis.range = [0, 1.06 * ends.y];
    const marks = { type: "scatter", mode: "markers", x, y, text, marker, hovertemplate: "<b>%{text}</b><br>H draft %{x:.2f}, H target %{y:.2f}<extra></extra>" };
    return { data: [marks, this.#histogram(bins.x, "x"), this.#histogram(bins.y, "y")], layout: themed(layout) };
  }

  #histogram(bins, side) {
    const counts = Array.from(bins, (n) => n ?? 0);
    const centres = counts.map((_, i) => (i + 0.5) * BIN);
    const share = side === "x" ? { x: centres, y: counts, yaxis: "y2" } : { y: centres, x: counts, xaxis: "x2", orientation: "h" };
    return { type: "bar", ...share, width: 0.92 * BIN, marker: { color: colour("edge") }, hovertemplate: "%{" + side + ":.2f} nats: %{" + (side === "x" ? "y" : "x") + "} tokens<extra></extra>" };
  }

  #shares() {
    const shares = this.pool.quadrants();
    QUADRANTS.forEach(([name, words], i) => this.quadrants[i].replaceChildren(h("b", {}, percent(shares[name])), ` ${words}`));
  }

  // ---- the two lines --------------------------------------------------------------------------------------------

  #handle(axis) {
    const handle = h(
      `div.ez-threshold.is-${axis.side}`,
      {
        role: "slider",
        tabindex: 0,
        hidden: true, // until there is a plane to lie on
        "aria-label": `${axis.label}, nats`,
        "aria-orientation": axis.side === "x" ? "horizontal" : "vertical",
        "aria-valuemin": 0,
        "aria-valuemax": HIGHEST,
        onpointerdown: (event) => this.#grab(event, axis, handle),
        onkeydown: (event) => this.#key(event, axis),
      },
      h("span", {}, axis.label),
    );
    return handle;
  }

  /** Put both lines where the thresholds are; one that is off the plane stays at its end, so that it can be taken back. */
  #place() {
    const full = this.plot.plot._fullLayout;
    const { gate } = this.pool;
    if (!full?.xaxis || !gate) return;
    const box = { left: full.xaxis._offset, width: full.xaxis._length, top: full.yaxis._offset, height: full.yaxis._length };
    this.inside.hidden = false;
    for (const [name, px] of Object.entries(box)) this.inside.style[name] = `${px}px`;
    const left = full.xaxis.l2p(Math.min(gate.draft_threshold, full.xaxis.range[1]));
    this.region.style.left = `${left}px`;
    this.region.style.bottom = `${box.height - full.yaxis.l2p(Math.min(gate.target_threshold, full.yaxis.range[1]))}px`;
    AXES.forEach((axis, i) => {
      const handle = this.handles[i];
      const value = gate[axis.name];
      const on = full[axis.axis];
      const most = on.range[1];
      const pixel = on._offset + on.l2p(Math.min(value, most));
      handle.hidden = false;
      handle.classList.toggle("is-off", value > most);
      handle.setAttribute("aria-valuenow", Number.isFinite(value) ? value : HIGHEST);
      handle.setAttribute("aria-valuetext", Number.isFinite(value) ? `${fixed(value, 2)} nats` : "gate closed");
      handle.firstChild.textContent = `${axis.label} ${Number.isFinite(value) ? fixed(value, 2) : "∞"}`;
      const style = axis.side === "x" ? { left: pixel, top: box.top, height: box.height } : { top: pixel, left: box.left, width: box.width };
      for (const [name, px] of Object.entries(style)) handle.style[name] = `${px}px`;
    });
  }

  #grab(event, axis, handle) {
    if (event.button) return;
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    const move = (e) => setKnob(axis.id, this.#at(e, axis), false);
    const drop = (e) => {
      handle.removeEventListener("pointermove", move);
      setKnob(axis.id, this.#at(e, axis), true);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", drop, { once: true });
    handle.addEventListener("pointercancel", drop, { once: true });
  }

  #at(event, axis) {
    const on = this.plot.plot._fullLayout[axis.axis];
    const rect = this.plot.plot.getBoundingClientRect();
    const pixel = axis.side === "x" ? event.clientX - rect.left : event.clientY - rect.top;
    return clamp(on.p2l(pixel - on._offset));
  }

  #key(event, axis) {
    const value = Math.min(this.pool.gate[axis.name], HIGHEST);
    const moves = { ArrowRight: STEP, ArrowUp: STEP, ArrowLeft: -STEP, ArrowDown: -STEP, PageUp: 10 * STEP, PageDown: -10 * STEP, Home: -Infinity, End: Infinity };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setKnob(axis.id, clamp(value + moves[event.key]), true);
  }
}

function clamp(value) {
  return Number((Math.round(Math.min(Math.max(value, 0), HIGHEST) / STEP) * STEP).toFixed(2));
}
