// Presenter mode: one round after another over the whole screen, in large type, by keys, clicker or mouse. Needs no model: it walks a
// recorded run, forward and back.

import { h } from "../dom.js";
import { BEATS, RoundStage, sentence } from "./round.js";

const ON = ["ArrowRight", " ", "Spacebar", "PageDown", "Enter"];
const BACK = ["ArrowLeft", "PageUp", "Backspace"];

export class Presenter {
  constructor(store, title, { round = 0, onLeave = () => {} } = {}) {
    Object.assign(this, { store, title, round, beat: 0, onLeave });
    this.#build();
    document.body.append(this.box);
    this.before = document.activeElement;
    this.box.focus();
    this.#fullScreen(true);
    this.#draw();
  }

  #build() {
    this.where = h("span.ez-presenter-where");
    this.phases = h("ol.ez-phases", { "aria-label": "Beats of a round" }, BEATS.map((name) => h("li", {}, name)));
    this.says = h("p.ez-presenter-says", { role: "status" });
    const button = (label, words, go) => h("button.ez-step-button", { type: "button", "aria-label": label, onclick: go }, words);
    this.back = button("Back", "‹", () => this.step(-1));
    this.on = button("On", "›", () => this.step(1));
    this.leaving = h("button.ez-quiet-button", { type: "button", onclick: () => this.leave() }, "Leave");
    this.whole = h("button.ez-quiet-button", { type: "button", "aria-keyshortcuts": "F", onclick: () => this.#fullScreen(!document.fullscreenElement) }, "Full screen");
    const stage = h("div.ez-presenter-stage");
    this.stage = new RoundStage(stage, this.store);
    this.box = h(
      "div.ez-presenter",
      { role: "dialog", "aria-modal": "true", "aria-label": `Presenter mode: ${this.title}`, tabindex: -1 },
      h("header", {}, h("b", {}, this.title), this.where, h("span.ez-presenter-tools", {}, this.whole, this.leaving)),
      this.phases,
      this.says,
      stage,
      h("footer", {}, this.back, h("span", {}, "→ or space: on · ←: back · ↑ ↓: a round · F: full screen · Esc: leave"), this.on),
    );
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.follow = () => this.#screenChanged();
    document.addEventListener("fullscreenchange", this.follow);
  }

  #draw() {
    const { rounds } = this.store.trace;
    this.where.textContent = `round ${this.round}, the last is ${rounds.length - 1}`;
    [...this.phases.children].forEach((item, i) => {
      item.classList.toggle("is-on", i === this.beat);
      item.classList.toggle("is-done", i < this.beat);
      if (i === this.beat) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    this.says.textContent = sentence(rounds[this.round], this.beat);
    this.stage.show(this.round, this.beat);
    this.back.disabled = this.round === 0 && this.beat === 0;
    this.on.disabled = this.round === rounds.length - 1 && this.beat === BEATS.length - 1;
  }

  /** One beat on or back, over the ends of rounds. */
  step(by) {
    const last = this.store.trace.rounds.length * BEATS.length - 1;
    const at = Math.min(Math.max(this.round * BEATS.length + this.beat + by, 0), last);
    this.round = Math.floor(at / BEATS.length);
    this.beat = at % BEATS.length;
    this.#draw();
  }

  toRound(round) {
    this.round = Math.min(Math.max(round, 0), this.store.trace.rounds.length - 1);
    this.beat = 0;
    this.#draw();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key === "F" ? "f" : event.key;
    const onButton = event.target.tagName === "BUTTON" && (key === " " || key === "Enter");
    const go = {
      ArrowDown: () => this.toRound(this.round + 1),
      ArrowUp: () => this.toRound(this.round - 1),
      Home: () => this.toRound(0),
      End: () => this.toRound(this.store.trace.rounds.length - 1),
      Escape: () => this.leave(),
      f: () => this.#fullScreen(!document.fullscreenElement),
      Tab: () => this.#tab(event.shiftKey),
    }[key];
    if (onButton) return; // the button's own
    if (ON.includes(key)) this.step(1);
    else if (BACK.includes(key)) this.step(-1);
    else if (go) go();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The dialog keeps the focus: Tab goes round its own buttons. */
  #tab(backwards) {
    const stops = [this.whole, this.leaving, this.back, this.on].filter((each) => !each.disabled);
    const at = stops.indexOf(document.activeElement);
    stops[(at + (backwards ? -1 + stops.length : 1) + (at < 0 && backwards ? 1 : 0)) % stops.length].focus();
  }

  #fullScreen(on) {
    // A browser may refuse, say without a click before it: presenting goes on in the window.
    if (on) this.box.requestFullscreen?.().catch(() => {});
    else if (document.fullscreenElement) {
      this.ownDoing = true;
      document.exitFullscreen().catch(() => {});
    }
  }

  /** In full screen a browser keeps Escape to itself: that the screen was left is all the page hears. */
  #screenChanged() {
    const full = Boolean(document.fullscreenElement);
    this.whole.textContent = full ? "Leave full screen" : "Full screen";
    if (!full && this.wasFull && !this.ownDoing) this.leave();
    this.wasFull = full;
    this.ownDoing = false;
  }

  leave() {
    document.removeEventListener("fullscreenchange", this.follow);
    this.#fullScreen(false);
    this.box.remove();
    this.before?.focus?.();
    this.onLeave(this.round);
  }
}
