// Playing the lanes back on one clock: play, a time line, a speed, and how far each lane has come.

import { fixed, h } from "../dom.js";
import { badge } from "./lane.js";

const SPEEDS = [
  [1, "recorded speed"],
  [0.5, "half speed"],
  [0.25, "a quarter"],
  [0.1, "a tenth"],
  [4, "4 × faster"],
  [16, "16 × faster"],
];

export class Player {
  constructor(clock, lanes) {
    this.clock = clock;
    this.lanes = lanes;
    this.button = h("button.ez-button.is-plain", { type: "button", onclick: () => (clock.playing ? clock.pause() : clock.play()) });
    this.line = h("input.ez-timeline", { type: "range", min: 0, step: 1, "aria-label": "Time", oninput: () => this.#seek() });
    this.time = h("span.ez-num");
    this.speed = h("select", { "aria-label": "Playback speed", onchange: () => (clock.speed = Number(this.speed.value)) });
    this.speed.append(...SPEEDS.map(([value, words]) => h("option", { value }, words)));
    this.rows = lanes.map((lane) => new Row(lane));
    this.element = h(
      "section.ez-card.ez-player",
      { "aria-label": "Playback" },
      h("div.ez-player-bar", {}, this.button, this.line, this.time, h("label.ez-pick", {}, this.speed)),
      h("div.ez-race", {}, this.rows.map((row) => row.element)),
    );
    clock.onTick((now) => this.#draw(now));
  }

  #seek() {
    const now = Number(this.line.value);
    this.clock.playing = false;
    this.clock.set(now);
  }

  #draw(now) {
    const { clock } = this;
    this.button.textContent = clock.playing ? "❚❚ Pause" : "▶ Play";
    this.button.disabled = clock.length === 0;
    this.line.max = Math.ceil(clock.length);
    this.line.value = Math.ceil(now);
    this.line.style.setProperty("--at", `${clock.length ? (100 * now) / clock.length : 0}%`);
    const words = `${fixed(now / 1000, 1)} of ${fixed(clock.length / 1000, 1)} s`;
    this.time.textContent = words;
    this.line.setAttribute("aria-valuetext", words);
    const most = Math.max(1, ...this.lanes.map((lane) => lane.tokens.at(-1) ?? 0));
    for (const lane of this.lanes) lane.show(now);
    for (const row of this.rows) row.draw(now, most);
  }
}

class Row {
  constructor(lane) {
    this.lane = lane;
    this.bar = h("i");
    this.words = h("span.ez-num");
    this.name = h("span.ez-race-name");
    this.element = h("div.ez-race-row", {}, badge(lane.letter), this.name, h("div.ez-race-bar", { "aria-hidden": "true" }, this.bar), this.words);
  }

  draw(now, most) {
    const { lane } = this;
    this.element.hidden = lane.element.hidden;
    if (lane.element.hidden) return;
    const { tokens, seconds, done } = lane.at(now);
    this.name.textContent = lane.name.textContent;
    this.bar.style.width = `${(100 * tokens) / most}%`;
    this.element.classList.toggle("is-done", done);
    const speed = seconds > 0 ? ` · ${fixed(tokens / seconds, 1)} tok/s` : "";
    this.words.textContent = `${tokens} ${tokens === 1 ? "token" : "tokens"} in ${fixed(seconds, 1)} s${speed}`;
  }
}
