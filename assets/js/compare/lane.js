// One lane of a comparison: a text that shows as much as has happened by the clock. Up to the fork it is quiet, as it is the
// same in all lanes, and without drafts that were turned away, so that lanes of one width wrap alike and the fork is aligned.

import { h } from "../dom.js";
import { storeOf } from "../store.js";
import { TokenText } from "../text.js";
import { ended, roundEnds } from "./clock.js";

export const badge = (letter) => h("span.ez-lane-badge", {}, letter);

export class Lane {
  constructor(letter) {
    this.letter = letter;
    this.store = storeOf(`compare.${letter}`);
    this.ends = [];
    this.tokens = []; // of the text, by the end of each round
    this.fork = { position: Infinity, key: null };
    this.name = h("b");
    this.about = h("span");
    const slot = h("div");
    this.element = h("section.ez-lane", { "aria-label": `Lane ${letter}` }, h("div.ez-lane-head", {}, badge(letter), this.name, this.about), slot);
    this.text = new TokenText(slot, this.store, { label: `Lane ${letter}`, controls: false });
    this.store.subscribe(() => this.#mark());
  }

  /** `lane`: {name, about, view}, or null for a lane that is not there. */
  set(lane) {
    this.element.hidden = !lane;
    this.name.textContent = lane?.name ?? "";
    this.about.textContent = lane?.about ?? "";
    this.store.setValue(lane?.view ?? null);
    this.element.dataset.mode = this.store.trace?.head.config.mode ?? "";
    const rounds = this.store.trace?.rounds ?? [];
    this.ends = roundEnds(rounds);
    let count = 0;
    this.tokens = rounds.map((round) => (count += round.drafted.filter((token) => token.outcome === "accepted").length + (round.emitted ? 1 : 0)));
  }

  get length() {
    return this.ends.at(-1) ?? 0;
  }

  /** {position, key}: from which position on it is on its own, and the token that was decided otherwise. */
  setFork(fork) {
    this.fork = fork;
    this.#mark();
  }

  /** Tokens and speed by now: {tokens, seconds, done}. */
  at(now) {
    const rounds = ended(this.ends, now);
    return { rounds, tokens: rounds ? this.tokens[rounds - 1] : 0, seconds: Math.min(now, this.length) / 1000, done: rounds === this.ends.length };
  }

  show(now) {
    const { rounds } = this.at(now);
    for (let i = 0; i < this.ends.length; i++) {
      const element = this.text.roundAt(i);
      if (element && element.hidden !== i >= rounds) element.hidden = i >= rounds;
    }
  }

  #mark() {
    for (const entry of this.store.entries) {
      const element = this.text.elementOf(entry.key);
      element?.toggleAttribute("data-shared", entry.token.position < this.fork.position);
      element?.toggleAttribute("data-fork", entry.key === this.fork.key);
    }
  }
}
