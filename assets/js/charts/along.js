// Along the text, on one axis of positions: both entropies with their thresholds and marks, then each model's top-k by rank.

import { fixed, probability, visibleText } from "../dom.js";
import { COLORSCALE, colour, lightColour } from "../palette.js";
import { OUTCOME_WORDS } from "../words.js";
import { TraceChart, plain } from "./chart.js";

const RANKS = 20;
const DECADES = 4; // the colour runs from 1 down to 10^-4

export class Along extends TraceChart {
  static hears = ["trace", "steps", "gate", "select"];
  #heat = { key: null };

  constructor(element, store, skeleton) {
    super(element, store, skeleton, {
      title: "Along the text",
      aside: "entropies, then the probability of each model’s most likely tokens, rank 1 at the top",
      label: "Along the text: entropies with thresholds, and rank by position heatmaps of both models",
    });
  }

  data(layout) {
    const { store } = this;
    const start = store.trace.head.prompt.token_ids.length;
    const place = (entry) => entry.token.position - start + 1;
    // One token per position: the one that was decided on there, and what replaced it where there was no draft.
    const decided = store.entries.filter((e) => e.drafted && e.recorded !== "discarded");
    const has = new Set(decided.map((e) => e.token.position));
    const bonus = store.entries.filter((e) => !e.drafted && !has.has(e.token.position));
    const path = [...decided, ...bonus].sort((a, b) => a.n - b.n);
    layout.xaxis.autorange = true;
    this.#thresholds(layout);
    this.#headings(layout);
    this.#selection(layout, place);
    return [
      this.#line("draft_entropy", "H draft", "bonus", path, place, "dot"),
      this.#line("target_entropy", "H target", "residual", path, place, "solid"),
      this.#marks("rejected", "x", path, place),
      this.#marks("gated", "diamond", path, place),
      ...this.#ranks(decided, place),
    ];
  }

  #line(name, label, tone, path, place, dash) {
    const drafted = path.filter((e) => e.token[name] !== undefined && e.token[name] !== null);
    const x = [];
    const y = [];
    const keys = [];
    const text = [];
    let before = null;
    for (const entry of drafted) {
      const at = place(entry);
      if (before !== null && at > before + 1) {
        x.push(null), y.push(null), keys.push(null), text.push(""); // a gap where a bonus token has no draft
      }
      x.push(at), y.push(entry.token[name]), keys.push(entry.key), text.push(plain(visibleText(entry.token)));
      before = at;
    }
    return {
      type: "scatter",
      mode: "lines+markers",
      name: label,
      x,
      y,
      customdata: keys,
      text,
      connectgaps: false,
      line: { color: colour(tone), width: 1.6, dash },
      marker: { color: colour(tone), size: 3.5 },
      hovertemplate: `<b>%{text}</b><br>${label} %{y:.2f} nats<extra></extra>`,
    };
  }

  #marks(outcome, symbol, path, place) {
    const here = path.filter((e) => e.drafted && e.outcome === outcome);
    return {
      type: "scatter",
      mode: "markers",
      x: here.map(place),
      y: here.map((e) => e.token.target_entropy),
      customdata: here.map((e) => e.key),
      text: here.map((e) => plain(visibleText(e.token))),
      marker: {
        symbol,
        size: outcome === "gated" ? 11 : 5.5,
        color: colour(outcome),
        opacity: here.map((e) => (e.region === "counterfactual" ? 0.25 : 1)),
        line: { width: outcome === "gated" ? 1 : 0, color: colour("bg") },
      },
      hovertemplate: `<b>%{text}</b><br>${OUTCOME_WORDS[outcome]}<extra></extra>`,
    };
  }

  #thresholds(layout) {
    const { gate } = this.store;
    for (const [value, tone, dash, name] of [
      [gate.draft_threshold, "bonus", "dot", "τ draft"],
      [gate.target_threshold, "residual", "dash", "τ target"],
    ]) {
      if (value === Infinity) continue;
      layout.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, yref: "y", y0: value, y1: value, line: { color: lightColour(tone), width: 1, dash } });
    }
    for (const axis of ["y2", "y3"]) {
      layout.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, yref: axis, y0: gate.k + 0.5, y1: gate.k + 0.5, line: { color: lightColour("gated"), width: 1, dash: "dash" } });
    }
  }

  #headings(layout) {
    const { gate } = this.store;
    const text = (x, y, words, tone) => layout.annotations.push({ text: words, xref: "paper", yref: "paper", x, y, xanchor: "left", yanchor: "bottom", showarrow: false, font: { size: 11.5, color: lightColour(tone) } });
    const limit = (value) => (value === Infinity ? "closed" : fixed(value, 2));
    text(0, 1.0, `┄ H draft, τ ${limit(gate.draft_threshold)}`, "bonus");
    text(0.24, 1.0, `— H target, τ ${limit(gate.target_threshold)}`, "residual");
    text(0.52, 1.0, "× rejected", "rejected");
    text(0.68, 1.0, "◆ gated", "gated");
    text(0, 0.575, `Draft’s top ${RANKS}, k = ${gate.k} dashed`, "mute");
    text(0, 0.245, `Target’s top ${RANKS}`, "mute");
  }

  /** Two heatmaps that change with the run but with no knob; made once per number of tokens. */
  #ranks(decided, place) {
    const { generation, entries } = this.store;
    const key = `${generation}/${entries.length}`;
    if (this.#heat.key !== key) {
      this.#heat = { key, draft: this.#grid(decided, place, "draft_top"), target: this.#grid(decided, place, "target_top") };
    }
    const tone = { colorscale: COLORSCALE, zmin: -DECADES, zmax: 0, showscale: false, hoverongaps: false, type: "heatmap", y0: 1, dy: 1 };
    const hovertemplate = "<b>%{text}</b><br>rank %{y}, p = %{hovertext}<extra></extra>";
    return [
      { ...tone, ...this.#heat.draft, yaxis: "y2", hovertemplate: hovertemplate.replace("p =", "q =") },
      { ...tone, ...this.#heat.target, yaxis: "y3", hovertemplate },
    ];
  }

  #grid(decided, place, name) {
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
    return { z, text, hovertext, customdata, x0: 1, dx: 1 };
  }

  #selection(layout, place) {
    const entry = this.store.find(this.store.selected);
    if (!entry) return;
    const at = place(entry);
    layout.shapes.push({ type: "rect", xref: "x", yref: "paper", x0: at - 0.5, x1: at + 0.5, y0: 0, y1: 1, line: { width: 1.5, color: lightColour("ink") } });
  }
}
