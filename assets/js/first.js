// The stand-in for the page until Gradio has made it: the first example, by the app's own views, from the values that Gradio was given.
// It has a store of its own, so that nothing of it is left when it goes.

import { Cards } from "./cards.js";
import { Hint } from "./learn/hint.js";
import { storeOf } from "./store.js";
import { TokenText } from "./text.js";

const LONGEST_MS = 60_000; // a page that has not come by then has failed, and says so itself

/** Fills it, where this page shows the example at all: a link may ask for something else. */
export function showFirst() {
  const first = document.getElementById("ez-first");
  if (!first) return;
  const asked = new URLSearchParams(location.search);
  const theme = asked.get("__theme");
  asked.delete("__theme");
  if ([...asked.keys()].length || location.hash) return first.remove();
  const dark = theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.body.classList.toggle("dark", dark);
  const given = (id) => window.gradio_config?.components.find(({ props }) => props.elem_id === id)?.props;
  const text = given("ez-text");
  if (!text) return first.remove();
  const place = (name) => first.querySelector(`[data-first=${name}]`);
  const store = storeOf("first");
  store.setValue(text.value);
  store.flush();
  new Hint(place("hint"), store, given("ez-hint")?.props.examples ?? []);
  new Cards(place("cards"), store);
  new TokenText(place("tokens"), store, { label: text.props.heading });
  first.hidden = false;
  setTimeout(hideFirst, LONGEST_MS);
}

export function hideFirst() {
  document.getElementById("ez-first")?.remove();
}
