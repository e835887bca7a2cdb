// A line above the text of a run: what to look at in a recorded example, what can be done, where to learn it.

import { h } from "../dom.js";
import { goto } from "./goto.js";

export class Hint {
  constructor(element, store, examples) {
    this.store = store;
    this.examples = examples;
    this.look = h("span.ez-look");
    const learn = h("button.ez-link", { type: "button", onclick: () => goto(0) }, "Learn it in seven steps");
    element.append(h("p.ez-hint", {}, this.look, "Click any word to see why it was kept or turned away. New to this? ", learn, "."));
    this.#draw();
    store.subscribe((what) => what.has("trace") && this.#draw());
  }

  /** For an example's prompt it is known what to look at; for a visitor's own it is not. */
  #draw() {
    const prompt = this.store.trace?.head.prompt.text;
    const example = this.examples.find((each) => each.prompt === prompt);
    this.look.replaceChildren(...(example ? [h("b", {}, `${example.title}. `), `${example.look} `] : []));
  }
}
