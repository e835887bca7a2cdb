// The Compare tab's main part: where the lanes part, the playback, the lanes themselves, the selected token, the table.

import { h } from "../dom.js";
import { Details } from "../details.js";
import { legend } from "../legend.js";
import { Clock } from "./clock.js";
import { forksCard } from "./forks.js";
import { Lane } from "./lane.js";
import { Player } from "./player.js";
import { metricsTable } from "./table.js";

const LETTERS = ["A", "B", "C", "D"];

export class Comparison {
  constructor(element, props, watch) {
    this.clock = new Clock();
    this.lanes = new Map(LETTERS.map((letter) => [letter, new Lane(letter)]));
    this.player = new Player(this.clock, [...this.lanes.values()]);
    this.notes = h("div.ez-notes");
    this.forks = h("div.ez-card.ez-forks");
    this.legend = h("div.ez-legend");
    this.prompt = h("p.ez-prompt");
    this.grid = h("div.ez-lanes", {}, [...this.lanes.values()].map((lane) => lane.element));
    this.details = new Map(LETTERS.map((letter) => [letter, h("div", { hidden: letter !== "A" })]));
    this.table = h("div.ez-metrics-box", { tabindex: 0, role: "region", "aria-label": "Metrics of every lane" });
    element.append(
      h("div.ez-head", {}, h("h2", {}, "Where they part"), h("span.ez-aside", {}, "same prompt, same seed, same draws")),
      this.forks,
      this.notes,
      h("div.ez-head.is-next", {}, h("h2", {}, "Side by side")),
      this.player.element,
      this.legend,
      this.prompt,
      this.grid,
      h("div.ez-lane-details", {}, [...this.details.values()]),
      h("div.ez-head.is-next", {}, h("h2", {}, "In numbers"), h("span.ez-aside", {}, "▲ more, ▼ less than lane A")),
      this.table,
    );
    for (const lane of this.lanes.values()) this.#details(lane);
    const draw = () => this.#draw(props.value);
    watch("value", draw);
    draw();
  }

  #details(lane) {
    new Details(this.details.get(lane.letter), lane.store);
    lane.store.subscribe((what) => {
      if (what.has("select") && lane.store.selected !== null) this.#showDetails(lane.letter);
    });
  }

  /** One token is selected over all lanes. */
  #showDetails(letter) {
    for (const [each, box] of this.details) box.hidden = each !== letter;
    for (const [each, lane] of this.lanes) if (each !== letter) lane.store.select(null);
  }

  #draw(value) {
    const shown = value?.lanes ?? [];
    for (const [letter, lane] of this.lanes) lane.set(shown.find((each) => each.letter === letter) ?? null);
    this.grid.dataset.count = shown.length;
    this.#drawForks(value?.forks ?? []);
    this.notes.replaceChildren(...(value?.notes ?? []).map((note) => h("p.ez-caution", {}, note)));
    this.table.replaceChildren(metricsTable(value?.table ?? [], shown));
    const first = this.lanes.get("A").store.trace;
    this.prompt.textContent = first?.head.prompt.text ?? "";
    const gated = [...this.lanes.values()].find((lane) => lane.store.trace?.head.config.mode === "easd");
    legend(this.legend, (gated ?? this.lanes.get("A")).store);
    this.clock.reset(Math.max(0, ...[...this.lanes.values()].map((lane) => (lane.element.hidden ? 0 : lane.length))));
    requestAnimationFrame(() => this.clock.set(this.clock.now)); // rounds that are drawn with the next frame
  }

  #drawForks(forks) {
    const place = (fork, decision) => ({ position: fork?.parted ? fork.position : Infinity, key: decision?.key ?? null });
    this.lanes.get("A").setFork(place(forks[0], forks[0]?.first)); // A and B are the pair that is read side by side
    for (const fork of forks) this.lanes.get(fork.lane).setFork(place(fork, fork.second));
    const select = (letter, key) => {
      this.lanes.get(letter).store.select(key);
      this.#showDetails(letter);
    };
    this.forks.hidden = !forks.length;
    this.forks.replaceChildren(...forksCard(forks, this.lanes, select));
  }
}
