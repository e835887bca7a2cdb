// Claims to put to the demo pair, live: each with what must come out, and why it may differ. Python runs them (easd_viz/checks.py).

import { h } from "../dom.js";

export class Checks {
  why = [
    "What the chapters claim can be tried on the demo pair, here and now. Each check runs a few tokens and compares what came out with what must come out.",
    "They need the models, so they wait in line with everybody’s runs; the first one loads them.",
  ];

  constructor(checks, run) {
    this.run = run;
    this.cards = new Map(checks.map((check) => [check.name, this.#card(check)]));
    this.element = h("ol.ez-checks", {}, [...this.cards.values()].map((card) => card.element));
  }

  #card({ name, title, expected }) {
    const says = h("p.ez-check-says", { role: "status" });
    const bar = h("i");
    const track = h("div.ez-progress", { "aria-hidden": "true" }, bar);
    const start = h("button.ez-quiet-button", { type: "button", "aria-label": `Run: ${title}`, onclick: () => this.#start(name) }, "Run");
    const element = h("li.ez-card.ez-live", { "data-check": name, "data-state": "new" }, h("div.ez-live-head", {}, h("h3", {}, title), start), h("p", {}, h("b", {}, "Expected: "), expected), says, track);
    return { element, says, bar, track, start };
  }

  #start(name) {
    this.update({ name, state: "busy", text: "Waiting for the models", progress: null });
    this.run(name);
  }

  /** {name, state: busy | holds | differs | error, text, explanation, progress}. One runs at a time. */
  update(value) {
    const card = value && this.cards.get(value.name);
    if (!card) return;
    const busy = value.state === "busy";
    card.element.dataset.state = value.state;
    card.says.replaceChildren(...words(value));
    card.track.classList.toggle("is-on", busy);
    card.track.classList.toggle("is-open", busy && value.progress === null);
    card.bar.style.width = `${100 * (value.progress ?? 0)}%`;
    for (const each of this.cards.values()) each.start.disabled = busy;
    card.start.textContent = busy ? "Running" : "Run again";
  }
}

const MARKS = { holds: ["i.yes", "✓", "Holds. "], differs: ["i.no", "✗", "Differs. "], error: ["i.no", "✗", "Could not run. "] };

function words({ state, text, explanation }) {
  const mark = MARKS[state];
  if (!mark) return [text];
  return [h(mark[0], { "aria-hidden": "true" }, mark[1]), " ", h("b", {}, mark[2]), text, explanation ? ` ${explanation}` : ""];
}
