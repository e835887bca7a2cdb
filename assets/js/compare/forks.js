// Where the lanes part from lane A: the two decisions one under the other, after the words that both wrote before them.

import { h, named } from "../dom.js";
import { pill, word } from "../details.js";
import { badge } from "./lane.js";

const WORDS_BEFORE = 8; // tokens of the text that both share

const HOW = {
  accepted: (own) => [pill("accepted"), word(own.token)],
  draft: (own) => [h("span.is-quiet", {}, "drawn from the draft"), word(own.token)],
  rejected: (own, other) => [pill("rejected", "rejected by SD"), h("s", {}, word(own.token)), h("span.is-quiet", {}, "from the residual"), word(other)],
  gated: (own, other) => [pill("gated", "gated"), h("s", {}, word(own.token)), h("span.is-quiet", {}, "resampled"), word(other)],
  bonus: (own) => [h("span.is-quiet", {}, "bonus token from the target"), word(own.token)],
  target: (own) => [h("span.is-quiet", {}, "drawn from the target"), word(own.token)],
};

/** @param forks [{lane, name, same, parted, why, first, second, silent}] of every lane but A; `onSelect(letter, key)`. */
export function forksCard(forks, lanes, onSelect) {
  return forks.map((fork) => {
    const pair = [lanes.get("A"), lanes.get(fork.lane)];
    return h("div.ez-fork", { "data-lane": fork.lane }, h("p.ez-fork-head", {}, ...head(fork)), rows(fork, pair, onSelect), h("p.ez-fork-why", {}, fork.why));
  });
}

function head(fork) {
  const n = `${fork.same} ${fork.same === 1 ? "token" : "tokens"}`;
  const both = [badge("A"), " and ", badge(fork.lane), " ", h("b", {}, fork.name)];
  if (!fork.parted) return [...both, ` write the same text: all ${n}.`];
  return [...both, fork.same ? [" are the same for ", h("b", {}, n), ", then part:"] : " part at the first token:"].flat();
}

function rows(fork, pair, onSelect) {
  const shown = fork.parted ? [fork.first, fork.second] : fork.silent;
  if (!shown) return null;
  const title = fork.parted ? null : h("p.ez-aside", {}, "The first decision that differs, with the same token in the end:");
  return h("div.ez-fork-rows", {}, title, ...pair.map((lane, i) => row(lane, shown[i], onSelect)));
}

function row(lane, decision, onSelect) {
  const before = h("span.ez-fork-before", {}, decision ? before_(lane.store, decision) : "");
  if (!decision) return h("div.ez-fork-row", {}, badge(lane.letter), before, h("span.is-quiet", {}, "ends here"));
  const entry = lane.store.find(decision.key);
  const other = lane.store.trace?.rounds[decision.step]?.emitted ?? null;
  if (!entry) return h("div.ez-fork-row", {}, badge(lane.letter));
  return h(
    "div.ez-fork-row",
    {},
    badge(lane.letter),
    before,
    h("button.ez-fork-decision", { type: "button", title: "Show how this token was decided", onclick: () => onSelect(lane.letter, decision.key) }, HOW[decision.kind](entry, other).flatMap((part) => [part, " "])),
  );
}

/** The words before a decision, as they stand in the text. */
function before_(store, decision) {
  const path = store.entries.filter((e) => e.onPath && e.token.position < decision.position);
  return named(`${path.length > WORDS_BEFORE ? "…" : ""}${path.slice(-WORDS_BEFORE).map((e) => e.text).join("")}`.replaceAll("\n", "⏎"));
}
