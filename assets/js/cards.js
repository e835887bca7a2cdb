// The run in numbers: a card per metric with its counts, the formula on hover or focus, and where the time went.

import { h, percent, fixed } from "./dom.js";
import { tooltip } from "./tooltip.js";

const n = (value, one, many = `${one}s`) => `${value} ${value === 1 ? one : many}`;

const CARDS = [
  {
    label: "Acceptance rate",
    formula: "accepted / (accepted + rejected + gated): over drafted tokens that were decided on; discarded ones are left out.",
    value: (m) => percent(m.acceptance_rate.value),
    counts: (m) => `${m.counts.accepted} of ${m.counts.decided} decided`,
    none: (m) => m.acceptance_rate.value === null,
  },
  {
    label: "Gate rate",
    formula: "gated / (accepted + gated): the share of SD-accepted tokens that EASD turned away.",
    value: (m) => percent(m.gate_rate.value),
    counts: (m) => `${m.counts.gated} of ${m.counts.accepted + m.counts.gated} SD accepted`,
    none: (m) => m.gate_rate.value === null,
  },
  {
    label: "Block efficiency",
    formula: "emitted tokens / target forward passes of the decode phase (mean acceptance length + 1).",
    value: (m) => fixed(m.block_efficiency.value, 2),
    counts: (m) => `${m.counts.emitted} in ${n(m.counts.passes, "pass", "passes")}`,
    none: (m) => m.block_efficiency.value === null,
  },
  {
    label: "Throughput",
    formula: "emitted tokens / wall seconds, the prompt’s prefill left out. As recorded, whatever the knobs say now.",
    value: (m) => fixed(m.throughput.value, 1),
    unit: "tok/s",
    counts: (m) => `${n(m.throughput.numerator, "token")} in ${fixed(m.throughput.denominator, 1)} s`,
    none: (m) => m.throughput.value === null,
    recorded: true,
  },
  {
    label: "Expected acceptance",
    formula: "mean of β = Σ min(p, q) over the drafted tokens on the path (Leviathan’s α): what the acceptance rate of SD estimates.",
    value: (m) => percent(m.expected_acceptance.value),
    counts: (m) => `mean β of ${n(m.expected_acceptance.denominator, "token")}`,
    none: (m) => m.expected_acceptance.value === null,
  },
  {
    label: "Draft utilisation",
    formula: "accepted / drafted: discarded ones count (what vLLM calls draft acceptance rate).",
    value: (m) => percent(m.draft_utilisation.value),
    counts: (m) => `${m.counts.accepted} of ${m.counts.drafted} drafted`,
    none: (m) => m.draft_utilisation.value === null,
  },
  {
    label: "Expected speed-up",
    formula: "(1 − α^(γ+1)) / ((1 − α)(γc + 1)), c = draft step time / target step time (Leviathan et al. 2023, theorem 3.8): of SD over the target alone; the gate’s cost is not in it.",
    value: (m) => `${fixed(m.expected_speed_up, 2)}×`,
    counts: (m) => `c = ${fixed(m.cost, 2)}`,
    none: (m) => m.expected_speed_up === null,
  },
];

export class Cards {
  constructor(element, store) {
    this.store = store;
    this.cards = CARDS.map((card) => this.#make(card));
    this.time = new TimeBar(store);
    this.box = h("div.ez-cards", { role: "group", "aria-label": "Metrics of this run" }, this.cards.map((card) => card.element), this.time.element);
    element.append(this.box);
    this.#draw();
    store.subscribe((what) => {
      if (what.has("trace") || what.has("steps") || what.has("gate")) this.#draw();
    });
  }

  #make(card) {
    const value = h("span.v");
    const counts = h("span.s");
    const element = h("div.ez-metric", { tabindex: 0, role: "group" }, h("span.t", {}, card.label), value, counts);
    const show = () => tooltip.show(element, { title: card.label, text: card.formula });
    element.addEventListener("pointerenter", show);
    element.addEventListener("focus", show);
    element.addEventListener("pointerleave", () => tooltip.hide());
    element.addEventListener("blur", () => tooltip.hide());
    return { ...card, element, valueAt: value, countsAt: counts };
  }

  #draw() {
    const { metrics, replay } = this.store;
    const moved = Boolean(replay?.boundary);
    for (const card of this.cards) {
      const none = !metrics || card.none(metrics);
      const estimate = moved && !none && !card.recorded;
      card.element.classList.toggle("is-none", none);
      card.element.classList.toggle("is-estimate", estimate);
      const value = none ? "–" : card.value(metrics);
      card.valueAt.replaceChildren(estimate ? h("small", {}, "≈ ") : "", value, card.unit && !none ? h("small", {}, ` ${card.unit}`) : "");
      const counts = none ? "not in this run" : card.counts(metrics);
      card.countsAt.textContent = counts;
      card.element.setAttribute("aria-label", `${card.label}: ${estimate ? "estimated on the recorded path, " : ""}${none ? "not defined" : `${value}${card.unit ? ` ${card.unit}` : ""}`}, ${counts}. ${card.formula}`);
    }
    this.box.classList.toggle("is-estimate", moved);
    this.time.draw();
  }
}

const PARTS = [
  ["draft", "draft_ms"],
  ["verify", "verify_ms"],
  ["record", "record_ms"],
];

class TimeBar {
  constructor(store) {
    this.store = store;
    this.bar = h("div.ez-timebar", { "aria-hidden": "true" }, PARTS.map(([name]) => h(`i.${name}`)));
    this.words = h("div.s");
    this.element = h("div.ez-metric.ez-time", { role: "group" }, h("span.t", {}, "Where the time went"), this.bar, this.words);
  }

  draw() {
    const times = this.store.metrics?.times;
    const wall = times?.wall_ms ?? 0;
    this.element.classList.toggle("is-none", !wall);
    const shares = PARTS.map(([name, key]) => [name, wall ? times[key] / wall : 0]);
    shares.forEach(([, share], i) => (this.bar.children[i].style.width = `${100 * share}%`));
    this.words.replaceChildren(...shares.map(([name, share]) => h(`span.${name}`, {}, `${name} ${wall ? (100 * share).toFixed(0) : "–"}%`)));
    this.element.setAttribute("aria-label", `Where the time went: ${shares.map(([name, share]) => `${name} ${(100 * share).toFixed(0)} percent`).join(", ")}`);
  }
}
