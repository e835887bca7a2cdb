// The gate plane of all traces that count: a mark per decided token, marginal histograms, the share of each quadrant, and the two
// thresholds as lines that are dragged or moved by arrow keys.

import { h, fixed, percent } from "../dom.js";
import { imageButtons } from "../images.js";
import { colour, lightColour, lightTint, themed } from "../palette.js";
import { Plot } from "../plot.js";
import { setKnob } from "./registry.js";

const MOST = 2500; // marks; of more tokens an even sample is drawn, the shares count all
const STEP = 0.05; // nats
const HIGHEST = 8; // as the sliders
const BIN = 0.25; // nats

const MARKS = [
  ["r", "rejected", "x"],
  ["a", "accepted", "circle"],
  ["g", "gated", "diamond"],
];
const AXES = [
  { name: "draft_threshold", id: "ez-tune-draft-threshold", axis: "xaxis", label: "τ draft", side: "x" },
  { name: "target_threshold", id: "ez-tune-target-threshold", axis: "yaxis", label: "τ target", side: "y" },
];

export class LabPlane {
  #dragging = null;

  constructor(element, pool, skeleton) {
    this.pool = pool;
    this.skeleton = skeleton;
    this.aside = h("span.ez-aside");
    this.frame = h("div.ez-chart.ez-lab-plane");
    element.append(h("div.ez-head", {}, h("h2", {}, "Gate plane"), this.aside), this.frame);
    this.plot = new Plot(this.frame, "Gate plane: draft entropy against target entropy of every decided token that counts", skeleton.layout.height, () => this.#figure());
    this.aside.parentElement.append(imageButtons(this.plot, "Gate plane"));
    this.handles = AXES.map((axis) => this.#handle(axis));
    this.frame.append(...this.handles);
    pool.subscribe(() => this.plot.redraw());
    new ResizeObserver(() => this.#place()).observe(this.frame);
    this.plot.redraw();
  }

  // ---- what is drawn --------------------------------------------------------------------------------------------

  #figure() {
    const layout = structuredClone(this.skeleton.layout);
    layout.uirevision = "lab";
    layout.shapes = [];
    layout.annotations = [];
    const { traces, gate, sums } = this.pool;
    if (!gate || !sums.n) return { data: [], layout: themed(layout) };
    const every = Math.max(1, Math.ceil(sums.n / MOST));
    this.aside.textContent = every > 1 ? `every ${every}th of ${sums.n.toLocaleString("en")} tokens` : "";
    const ends = { x: 1, y: 1 };
    const marks = MARKS.map(() => ({ x: [], y: [] }));
    const bins = { x: [], y: [] };
    let seen = 0;
    for (const trace of traces) {
      for (let i = 0; i < trace.n; i++) {
        const at = { x: trace.draft_entropy[i], y: trace.target_entropy[i] };
        for (const side of ["x", "y"]) {
          ends[side] = Math.max(ends[side], at[side]);
          const bin = Math.floor(at[side] / BIN);
          bins[side][bin] = (bins[side][bin] ?? 0) + 1;
        }
        if (seen++ % every) continue;
        const here = marks[MARKS.findIndex(([letter]) => letter === trace.now[i])];
        here.x.push(at.x);
        here.y.push(at.y);
      }
    }
    layout.xaxis.range = [0, 1.06 * ends.x];
    layout.yaxis.range = [0, 1.06 * ends.y];
    this.#region(layout, gate);
    requestAnimationFrame(() => setTimeout(() => this.#place()));
    return { data: [...marks.map((here, m) => this.#marks(here, MARKS[m])), this.#histogram(bins.x, "x"), this.#histogram(bins.y, "y")], layout: themed(layout) };
  }

  #marks({ x, y }, [, outcome, symbol]) {
    return {
      type: "scatter",
      mode: "markers",
      name: outcome,
      x,
      y,
      hovertemplate: `${outcome}<br>H draft %{x:.2f}, H target %{y:.2f}<extra></extra>`,
      marker: { symbol, size: outcome === "gated" ? 7 : 5, opacity: outcome === "gated" ? 0.9 : 0.5, color: colour(outcome) },
    };
  }

  #histogram(bins, side) {
    const counts = Array.from(bins, (n) => n ?? 0);
    const centres = counts.map((_, i) => (i + 0.5) * BIN);
    const share = side === "x" ? { x: centres, y: counts, yaxis: "y2" } : { y: centres, x: counts, xaxis: "x2", orientation: "h" };
    return { type: "bar", ...share, width: 0.92 * BIN, marker: { color: colour("edge") }, hovertemplate: "%{" + side + ":.2f} nats: %{" + (side === "x" ? "y" : "x") + "} tokens<extra></extra>" };
  }

  #region(layout, gate) {
    const right = layout.xaxis.range[1];
    const high = layout.yaxis.range[1];
    const { draft_threshold: left, target_threshold: low } = gate;
    if (left < right && low < high) {
      layout.shapes.push({ type: "rect", layer: "below", x0: left, x1: right, y0: low, y1: high, line: { width: 0 }, fillcolor: lightTint("gated", 0.1) });
    }
    const shares = this.pool.quadrants();
    const corner = (name, x, y, words) => ({ x, y, xref: "x domain", yref: "y domain", xanchor: x ? "right" : "left", yanchor: y ? "top" : "bottom", showarrow: false, text: `<b>${percent(shares[name])}</b> ${words}`, font: { size: 11, color: lightColour("mute") }, bgcolor: "rgba(0,0,0,0)" });
    layout.annotations.push(corner("both", 1, 1, "both unsure"), corner("target", 0, 1, "target only"), corner("draft", 1, 0, "draft only"), corner("neither", 0, 0, "neither"));
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
