// The text up to a token, cut to its end: what both models had read when it was drafted.

import { named } from "../dom.js";

/** Prompt and emitted text before `entry`; `after`: with what its round emitted too. */
export function textBefore(store, entry, length = 110) {
  const path = store.entries.filter((e) => e.onPath && e.n < entry.n).map((e) => e.text);
  return cut(path.length ? path.join("") : store.trace.head.prompt.text, length);
}

/** The text as it stood before a round. */
export function textBeforeRound(store, round, length = 160) {
  const path = store.entries.filter((e) => e.onPath && e.round < round).map((e) => e.text);
  return cut(path.join(""), length);
}

/** The end of a text, from a word's beginning on, on one line. */
export function cut(text, length) {
  const line = named(text).replace(/\n+/g, " ⏎ ");
  if (line.length <= length) return line;
  const end = line.slice(-length);
  const word = end.indexOf(" ");
  return `…${word >= 0 && word < 24 ? end.slice(word) : end}`;
}

/** Drafted tokens that were decided on, with all their numbers. */
export const decided = (store) => store.entries.filter((e) => e.drafted && e.token.target_top && e.recorded !== "discarded");
