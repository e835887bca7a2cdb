// The Learn tab: chapters at the left, one at a time on the right; example, score, presenter mode. It fetches the recorded runs itself,
// when it is first seen: the page's start does not wait for them.

import { h } from "../dom.js";
import { storeOf } from "../store.js";
import { accept } from "./chapters/accept.js";
import { agreement } from "./chapters/agreement.js";
import { cost } from "./chapters/cost.js";
import { draftVerify } from "./chapters/draft_verify.js";
import { gate } from "./chapters/gate.js";
import { oneToken } from "./chapters/one_token.js";
import { uncertainty } from "./chapters/uncertainty.js";
import { Checks } from "./checks.js";
import { onGoto } from "./goto.js";
import { Memory } from "./memory.js";
import { Presenter } from "./presenter.js";

export const CHAPTERS = [oneToken, draftVerify, accept, uncertainty, agreement, gate, cost];
const CHECKS = CHAPTERS.length;

export class Learn {
  constructor(element, { props, watch, select }) {
    this.examples = props.examples;
    this.store = storeOf("learn");
    this.memory = new Memory();
    this.checks = new Checks(props.checks, (name) => select({ index: 0, value: name }));
    watch("value", () => this.checks.update(props.value));
    this.at = Math.min(this.memory.state.chapter, CHECKS);
    this.#build(element);
    this.memory.subscribe(() => this.#drawScore());
    onGoto((chapter) => this.open(chapter));
    this.#whenSeen(element, () => this.load(this.#remembered()));
  }

  #remembered() {
    return this.examples.find((each) => each.name === this.memory.state.example) ?? this.examples[0];
  }

  #whenSeen(element, act) {
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      act();
    });
    seen.observe(element);
  }

  // ---- layout ---------------------------------------------------------------------------------------------------

  #build(element) {
    const item = (title, i) =>
      h("li", {}, h("button", { type: "button", onclick: () => this.open(i) }, h("span.ez-no", { "aria-hidden": "true" }, i < CHECKS ? i + 1 : "✓"), h("span.ez-ti", {}, title)));
    this.list = h("ol.ez-chapter-list", {}, [...CHAPTERS.map(({ title }) => title), "Try it live"].map(item));
    this.list.addEventListener("keydown", (event) => this.#arrow(event));
    this.pick = h(
      "select",
      { "aria-label": "Example", onchange: () => this.load(this.examples[this.pick.selectedIndex]) },
      this.examples.map(({ name, title }) => h("option", { value: name }, title)),
    );
    this.score = h("p.ez-total");
    this.present = h("button.ez-present", { type: "button", onclick: () => this.startPresenter() }, "Present a run");
    const side = h(
      "div.ez-learn-side",
      {},
      h("nav", { "aria-label": "Chapters" }, this.list),
      h("div.ez-learn-tools", {}, h("label.ez-pick", {}, "example ", this.pick), this.present, this.score),
    );
    this.heading = h("h2", { tabindex: -1 });
    this.why = h("div.ez-because");
    this.body = h("div.ez-lesson");
    this.back = h("button.ez-quiet-button", { type: "button", onclick: () => this.open(this.at - 1) });
    this.on = h("button.ez-next", { type: "button", onclick: () => this.open(this.at + 1) });
    this.chapter = h("section.ez-chapter", { "aria-label": "Chapter" }, this.heading, this.why, this.body, h("div.ez-pager", {}, this.back, this.on));
    element.append(h("div.ez-learn", {}, side, this.chapter));
    this.#drawScore();
    this.#drawFrame();
  }

  #drawScore() {
    const { right, asked } = this.memory.score();
    this.score.replaceChildren(
      asked ? `${right} of ${asked} right ` : "Chapters 3 and 6 ask you to predict.",
      asked ? h("button.ez-link", { type: "button", onclick: () => this.#forget() }, "reset") : "",
    );
  }

  #forget() {
    this.memory.forgetScore();
    this.#drawChapter();
  }

  #arrow(event) {
    const buttons = [...this.list.querySelectorAll("button")];
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const next = step && buttons[buttons.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  // ---- chapters -------------------------------------------------------------------------------------------------

  open(chapter) {
    this.at = Math.min(Math.max(chapter, 0), CHECKS);
    this.memory.set({ chapter: this.at });
    this.#drawFrame();
    this.#drawChapter();
    this.heading.focus({ preventScroll: true });
    this.list.children[this.at].scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }

  #drawFrame() {
    const title = (i) => (i < CHECKS ? `${i + 1} ${CHAPTERS[i].title}` : "Try it live");
    this.heading.textContent = title(this.at);
    [...this.list.querySelectorAll("button")].forEach((button, i) => {
      if (i === this.at) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    });
    this.back.hidden = this.at === 0;
    this.on.hidden = this.at === CHECKS;
    this.back.textContent = `‹ ${title(this.at - 1 < 0 ? 0 : this.at - 1)}`;
    this.on.textContent = `${title(Math.min(this.at + 1, CHECKS))} ›`;
    const why = this.at < CHECKS ? CHAPTERS[this.at].why : this.checks.why;
    this.why.replaceChildren(...why.map((text) => h("p", {}, formulas(text))));
  }

  #drawChapter() {
    this.body.replaceChildren();
    if (this.at === CHECKS) {
      this.body.append(this.checks.element);
      return;
    }
    if (!this.store.trace) {
      this.body.append(h("p.ez-empty", { role: "status" }, this.failed ?? "Fetching a recorded run…"));
      return;
    }
    CHAPTERS[this.at].make(this.body, { store: this.store, memory: this.memory, example: this.memory.state.example });
    this.body.dataset.example = this.memory.state.example;
  }

  // ---- examples -------------------------------------------------------------------------------------------------

  async load(example) {
    this.pick.value = example.name;
    if (this.memory.state.example !== example.name) this.memory.set({ example: example.name });
    try {
      const answer = await fetch(example.url);
      if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
      const text = await answer.text();
      if (this.memory.state.example !== example.name) return; // another one was chosen meanwhile
      this.store.setValue(parse(text));
      this.failed = null;
    } catch (error) {
      this.failed = `The recorded run “${example.title}” could not be fetched (${error.message}). Reload the page to try again.`;
    }
    this.#drawChapter();
  }

  startPresenter() {
    if (!this.store.trace) return;
    this.presenter = new Presenter(this.store, this.examples[this.pick.selectedIndex].title, { round: this.round ?? 0, onLeave: (round) => (this.round = round) });
  }
}

/** Text with its formulas set: H_draft with an index, e^H and α^(γ+1) with an exponent. */
function formulas(text) {
  return text.split(/([Hτ]_(?:draft|target)|\^\([^)]*\)|\^H)/).map((part) => {
    if (part.startsWith("^")) return h("sup", {}, part.slice(1).replace(/^\((.*)\)$/, "$1"));
    const [symbol, index] = part.split("_");
    return index && /^[Hτ]$/.test(symbol) ? h("span.ez-sub", {}, symbol, h("sub", {}, index)) : part;
  });
}

/** A trace file as a store takes it: its own lines, as strings. */
export function parse(text) {
  const lines = text.split("\n").filter(Boolean);
  const foot = lines[lines.length - 1].startsWith('{"kind":"footer"') ? lines.pop() : null;
  return { head: lines[0], steps: lines.slice(1), foot };
}
