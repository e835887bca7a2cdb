// One pool per lab on the page, tied to the store of its text: the store's gate is the pool's.

import { storeOf } from "../store.js";
import { Pool } from "./pool.js";

const pools = new Map();

/** The pool beside the store of this name, made when first asked for. */
export function poolOf(name) {
  if (!pools.has(name)) {
    const pool = new Pool();
    pools.set(name, pool);
    const store = storeOf(name);
    store.subscribe((what) => {
      if (store.gate && (what.has("gate") || what.has("trace"))) pool.setGate(store.gate);
    });
  }
  return pools.get(name);
}

/** Move a knob as a hand would: Gradio's own slider is the one owner of its value. `end`: the drag is over. */
export function setKnob(id, value, end) {
  const input = document.querySelector(`#${id} input[type="range"]`);
  if (!input) return;
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  if (end) input.dispatchEvent(new Event("pointerup", { bubbles: true }));
}
