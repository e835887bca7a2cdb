// A link to what is shown: into the page's address, on the clipboard where the browser allows it, and in a field to copy from.

import { h } from "./dom.js";

const ON_ITS_WAY_MS = 5000;

export class Sharer {
  constructor(element, store, props, watch) {
    this.store = store;
    this.says = h("span", { role: "status" });
    this.field = h("input", { type: "text", readonly: true, "aria-label": "Link", onfocus: () => this.field.select() });
    this.box = h("div.ez-shared", { hidden: true }, this.says, this.field);
    element.append(this.box);
    watch("value", () => this.#take(props.value));
    this.#take(props.value); // what came before this module had loaded
  }

  /** {query, words, select, nonce} */
  #take(value) {
    if (value?.select) this.#select(value.select);
    if (value?.query) this.#share(value.query, value.words);
  }

  async #share(query, words) {
    const url = `${location.origin}${location.pathname}?${query}`;
    history.replaceState(null, "", url);
    this.field.value = url;
    this.box.hidden = false;
    const copied = await navigator.clipboard?.writeText(url).then(
      () => true,
      () => false,
    );
    this.says.textContent = `${words}${copied ? ", on the clipboard" : ". Copy it from here"}`;
  }

  /** The trace is there already, where the page shows the same example anyway; or it is still on its way, for a moment. */
  #select(key) {
    const { store } = this;
    const take = () => store.find(key) && store.select(key);
    take();
    const stop = store.subscribe((what) => what.has("trace") && take());
    setTimeout(stop, ON_ITS_WAY_MS);
  }
}
