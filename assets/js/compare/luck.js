// Is it luck? The mean difference of every metric over several seeds, with its bootstrap interval, and what that says.

import { h } from "../dom.js";
import { badge } from "./lane.js";

export class Luck {
  constructor(element, props, watch) {
    this.box = h("div.ez-luck");
    element.append(this.box);
    const draw = () => this.#draw(props.value);
    watch("value", draw);
    draw();
  }

  /** {seeds, comparisons: [{lane, name, rows: [{key, label, first, second, mean, low, high, text, interval, sentence, zero}]}]} */
  #draw(value) {
    const comparisons = value?.comparisons ?? [];
    this.box.replaceChildren(...comparisons.map((each) => this.#comparison(each, value.seeds)));
  }

  #comparison({ lane, name, rows }, seeds) {
    return h(
      "section.ez-luck-lane",
      { "data-lane": lane },
      h("h3", {}, badge(lane), ` ${name} `, h("span.ez-aside", {}, "against "), badge("A"), h("span.ez-aside", {}, ` over ${seeds} ${seeds === 1 ? "seed" : "seeds"}`)),
      rows.length ? h("div.ez-luck-rows", {}, rows.map(row)) : h("p.ez-aside", {}, "Two seeds at least are needed for an interval."),
    );
  }
}

function row(found) {
  return h(
    "div.ez-luck-row",
    { "data-metric": found.key, "data-zero": found.zero ? "inside" : "outside" },
    h("span.ez-luck-label", {}, found.label),
    h("span.ez-luck-means", {}, `${found.first} → ${found.second}`),
    picture(found),
    h("span.ez-luck-numbers", {}, h("b", {}, found.text), ` ${found.interval}`),
    h("p", {}, found.sentence),
  );
}

/** The interval against zero, on a scale of its own. */
function picture({ low, high, mean }) {
  const reach = 1.15 * Math.max(Math.abs(low), Math.abs(high)) || 1;
  const at = (value) => `${50 + (50 * value) / reach}%`;
  return h(
    "span.ez-interval",
    { "aria-hidden": "true", "--low": at(low), "--high": at(high), "--mean": at(mean) },
    h("i.zero"),
    h("i.span"),
    h("i.mean"),
  );
}
