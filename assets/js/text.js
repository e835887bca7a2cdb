// The highlighted text: every token a span, in the order of the run; drafts that were turned away stand in place, struck through.
// Grows by the rounds that are new; a moved threshold only touches the tokens whose verdict it changes.

import { h, named } from "./dom.js";
import { onTheme, scaled } from "./palette.js";
import { QUANTITIES } from "./store.js";
import { legend } from "./legend.js";
import { SOURCE_CLASS, pieces, speak, tip } from "./token.js";
import { tooltip } from "./tooltip.js";

export class TokenText {
  #elements = new Map(); // entry key -> span
  #generation = -1;
  #drawn = 0; // entries that have a span
  #focus = null; // the key that Tab reaches
  #rounds = new Map();

  constructor(element, store, { label = "Text", controls = true, onSelect = () => {}, onRerun = null }) {
    this.store = store;
    this.onSelect = onSelect;
    this.onRerun = onRerun;
    this.#build(element, label, controls);
    this.#listen();
    store.subscribe((what) => this.#draw(what));
    onTheme(() => this.#paintAll());
  }

  #build(element, label, controls) {
    this.legend = h("div.ez-legend");
    this.list = h("div.ez-tokens", { role: "listbox", "aria-label": `${label}, token by token`, tabindex: -1 });
    this.prompt = h("div.ez-prompt");
    this.empty = h("p.ez-empty", {}, "Nothing has run yet. Write a prompt and press Run; every drafted token will show up here with its verdict.");
    this.boundary = h("span.ez-boundary", { "aria-hidden": "true" });
    this.box = h("div.ez-text", {}, this.prompt, this.empty, this.list);
    this.says = h("div.ez-says", { role: "status" });
    this.rerun = h("button.ez-button", { type: "button", hidden: true, onclick: () => this.onRerun() }, "Re-run from here");
    this.note = h("div.ez-note", {}, this.says, this.rerun);
    element.append(
      h("div.ez-head", {}, h("h2", {}, label), controls ? this.#controls() : null),
      this.legend,
      h("div.ez-card.ez-textcard", {}, this.box, this.note),
    );
  }

  #controls() {
    const select = h(
      "select",
      { "aria-label": "Colour the text by", onchange: () => this.store.setColour(select.value) },
      Object.entries(QUANTITIES).map(([name, { label }]) => h("option", { value: name }, label)),
    );
    const toggle = (kind, words, title) => {
      const check = h("input", { type: "checkbox", checked: this.store.show[kind], role: "switch", onchange: () => this.store.setShow(kind, check.checked) });
      return h("label.ez-switch", { title }, check, h("span.ez-knob"), words);
    };
    this.select = select;
    return h(
      "div.ez-options",
      {},
      h("label.ez-pick", {}, "colour by ", select),
      toggle("turned", "rejected and gated", "Show the drafts that were turned away, in place"),
      toggle("discarded", "discarded", "Show the drafts after a rejected or gated one, which nobody verified"),
    );
  }

  /** The span of an entry, and that of a round: for a view that marks or hides some. Classes are the text's own, attributes are free. */
  elementOf(key) {
    return this.#elements.get(key);
  }

  roundAt(index) {
    return this.#rounds.get(index);
  }

  // ---- drawing --------------------------------------------------------------------------------------------------

  #draw(what) {
    const { store } = this;
    if (store.generation !== this.#generation || !store.trace) this.#restart();
    const fresh = store.entries.slice(this.#drawn);
    const atEnd = fresh.length > 0 && this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 40; // asking costs a layout
    for (const entry of fresh) this.#add(entry);
    this.#drawn = store.entries.length;
    if (what.has("gate") || what.has("trace")) this.#paintAll();
    else if (what.has("style")) this.#paintAll();
    else if (fresh.length) for (const entry of this.#rescaled() ? store.entries : fresh) this.#paint(entry);
    for (const [index, round] of this.#rounds) round.hidden = index < store.from;
    this.prompt.lastChild.textContent = this.#before();
    this.box.classList.toggle("no-turned", !store.show.turned);
    this.box.classList.toggle("no-discarded", !store.show.discarded);
    if (this.select && this.select.value !== store.colour) this.select.value = store.colour;
    this.#select(what.has("select"));
    this.#drawBoundary();
    legend(this.legend, store);
    if (atEnd && !what.has("trace")) this.box.scrollTop = this.box.scrollHeight;
  }

  #restart() {
    this.#generation = this.store.generation;
    this.#drawn = 0;
    this.#focus = null;
    this.#elements.clear();
    this.#rounds.clear();
    this.list.replaceChildren();
    this.box.scrollTop = 0;
    const { trace } = this.store;
    this.empty.hidden = Boolean(trace);
    this.prompt.hidden = !trace;
    this.prompt.replaceChildren(h("span.ez-sr", {}, "Prompt: "), h("span"));
  }

  /** What stands before the tokens: the prompt, or how much of the text is left out. */
  #before() {
    const { trace, from, entries } = this.store;
    if (!trace) return "";
    if (!from) return named(trace.head.prompt.text);
    const hidden = entries.filter((entry) => entry.onPath && entry.round < from).length;
    return `… ${hidden} ${hidden === 1 ? "token" : "tokens"} that both have`;
  }

  #add(entry) {
    let round = this.#rounds.get(entry.round);
    if (!round) {
      round = h("span.ez-round", { role: "group", "aria-label": `Round ${entry.round}` });
      this.#rounds.set(entry.round, round);
      this.list.append(round);
    }
    const element = h("span.tok", { role: "option", tabindex: -1, "data-key": entry.key, "aria-selected": "false" }, pieces(entry));
    this.#elements.set(entry.key, element);
    round.append(element);
  }

  #scale = "";

  /** True where a new token stretched the colour scale, so that the old ones have to be painted again. */
  #rescaled() {
    if (this.store.colour === "outcome") return false;
    const scale = this.store.range(this.store.colour).join();
    const changed = scale !== this.#scale;
    this.#scale = scale;
    return changed;
  }

  #paintAll() {
    for (const entry of this.store.entries) this.#paint(entry);
  }

  #paint(entry) {
    const element = this.#elements.get(entry.key);
    if (!element) return;
    const { store } = this;
    const quantity = QUANTITIES[store.colour];
    const classes = ["tok", entry.drafted ? entry.outcome : SOURCE_CLASS[entry.outcome]];
    if (entry.region === "counterfactual") classes.push("cf");
    if (entry.region === "in_round") classes.push("in-round");
    if (entry.changed) classes.push("changed");
    if (!entry.onPath) classes.push("off");
    if (store.colour !== "outcome") classes.push("by-number");
    if (entry.key === store.selected) classes.push("sel");
    const name = classes.join(" ");
    if (element.className !== name) {
      element.className = name;
      element.setAttribute("aria-label", speak(entry));
    }
    if (store.colour === "outcome") {
      if (element.style.length) element.removeAttribute("style");
      return;
    }
    const value = quantity.of(entry, store.gate);
    element.classList.toggle("no-number", value === null);
    if (value === null) return element.removeAttribute("style");
    const [low, high] = store.range(store.colour);
    const { background, ink } = scaled((value - low) / (high - low));
    element.style.setProperty("--c", background);
    element.style.setProperty("--on-c", ink);
  }

  #drawBoundary() {
    const boundary = this.store.replay?.boundary;
    this.note.classList.toggle("is-what-if", Boolean(boundary));
    this.rerun.hidden = !boundary || !this.onRerun;
    if (!boundary) {
      this.boundary.remove();
      this.says.replaceChildren(this.#plainNote());
      return;
    }
    const round = this.#rounds.get(boundary.step);
    const exact = this.store.entries.filter((e) => e.round === boundary.step && e.region !== "counterfactual");
    const last = this.#elements.get(exact[exact.length - 1].key);
    if (this.boundary.previousSibling !== last) round.insertBefore(this.boundary, last.nextSibling);
    this.says.replaceChildren(this.#boundaryNote(boundary));
    this.boundary.title = boundary.goes_on
      ? "Up to the first changed verdict all is exact; the rest of that round is in-round exact, as its drafts and targets were recorded. All behind this line is counterfactual: with these knobs the text would have been another one."
      : "Up to here all is exact. All behind this line is counterfactual: with these knobs the text would have been another one.";
  }

  #plainNote() {
    const { trace, replay } = this.store;
    if (!trace) return "";
    if (!replay) return "No gate in this mode: nothing to re-judge.";
    if (trace.head.config.mode === "sd" && this.store.gate.draft_threshold === Infinity) return "As recorded by plain SD. Choose EASD to see what the gate would have done.";
    return "As recorded. Move a threshold, ρ or k to re-judge this run.";
  }

  #boundaryNote(boundary) {
    const { store } = this;
    const changed = store.entries.find((e) => e.changed);
    const after = store.entries.filter((e) => e.onPath && e.region === "counterfactual").length;
    const word = h("q", {}, named(changed.token.text));
    const change =
      boundary.reason === "resample"
        ? ["the replacement of ", word, " would be drawn by the other rule"]
        : [word, ` would be ${changed.outcome}, not ${changed.recorded}`];
    return h(
      "span.ez-what-if",
      {},
      h("b", {}, `Round ${boundary.step}: `),
      ...change,
      `. Exact up to there; the ${after} ${after === 1 ? "token" : "tokens"} after it came from other knobs and ${after === 1 ? "is" : "are"} counterfactual (grey).`,
    );
  }

  // ---- selecting ------------------------------------------------------------------------------------------------

  #select(scroll) {
    const { selected } = this.store;
    if (this.selectedElement?.dataset.key !== selected) {
      this.selectedElement?.classList.remove("sel");
      this.selectedElement?.setAttribute("aria-selected", "false");
      this.selectedElement = null;
    }
    const element = selected === null ? null : this.#elements.get(selected);
    const first = this.store.entries[0];
    this.#setFocus(selected && element ? selected : (this.#focus ?? first?.key ?? null));
    if (!element) return;
    element.classList.add("sel");
    element.setAttribute("aria-selected", "true");
    this.selectedElement = element;
    if (scroll) reveal(element, this.box);
  }

  #setFocus(key) {
    if (this.#focus !== null && this.#focus !== key) this.#elements.get(this.#focus)?.setAttribute("tabindex", "-1");
    this.#focus = key;
    if (key !== null) this.#elements.get(key)?.setAttribute("tabindex", "0");
  }

  #entryAt(target) {
    const element = target.closest?.("[data-key]");
    return element ? this.store.find(element.dataset.key) : null;
  }

  #choose(entry) {
    this.store.select(entry.key === this.store.selected ? null : entry.key);
    this.onSelect(entry);
  }

  #listen() {
    const { list } = this;
    list.addEventListener("click", (event) => {
      const entry = this.#entryAt(event.target);
      if (entry && !String(window.getSelection())) this.#choose(entry); // a click that ends a text selection selects no token
    });
    list.addEventListener("keydown", (event) => this.#key(event));
    const show = (event) => {
      const entry = this.#entryAt(event.target);
      if (entry) tooltip.show(this.#elements.get(entry.key), tip(entry, this.store.gate));
    };
    list.addEventListener("pointerover", show);
    list.addEventListener("focusin", (event) => {
      const entry = this.#entryAt(event.target);
      if (entry) this.#setFocus(entry.key);
      if (event.target.matches(":focus-visible")) show(event);
    });
    list.addEventListener("pointerout", () => tooltip.hide());
    list.addEventListener("focusout", () => tooltip.hide());
  }

  #key(event) {
    const entry = this.#entryAt(event.target);
    if (!entry || event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = this.store.visible().filter((each) => this.#elements.get(each.key).getClientRects().length);
    const at = shown.indexOf(entry);
    const to = {
      ArrowRight: () => shown[at + 1],
      ArrowLeft: () => shown[at - 1],
      ArrowDown: () => shown.find((e) => e.round > entry.round),
      ArrowUp: () => shown.find((e) => e.round === entry.round - 1),
      Home: () => shown[0],
      End: () => shown[shown.length - 1],
    }[event.key];
    if (to) {
      event.preventDefault();
      const next = to();
      if (next) this.#elements.get(next.key).focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#choose(entry);
    } else if (event.key === "Escape") {
      if (tooltip.hide()) return;
      this.store.select(null);
    }
  }
}

function reveal(element, box) {
  const inner = box.getBoundingClientRect();
  const own = element.getBoundingClientRect();
  if (own.top < inner.top + 8 || own.bottom > inner.bottom - 8) box.scrollTop += own.top - inner.top - inner.height / 2;
  const smooth = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block: "nearest", behavior: smooth ? "smooth" : "auto" });
}
