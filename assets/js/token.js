// One token of a text: its visible pieces, its accessible name, its tooltip. What every view of a text shares.

import { h, named, spokenText, fixed, probability } from "./dom.js";
import { QUANTITIES } from "./store.js";
import { OUTCOME_WORDS, SOURCE_WORDS } from "./words.js";

/** How each source looks: the replacement of a gated token is the same kind of thing under either rule. */
export const SOURCE_CLASS = { residual: "residual", target: "target", target_excluding_draft: "target", bonus: "bonus" };

const title = (entry) => (entry.text === "" ? "part of a character" : entry.text.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "␣"));

/** A token's accessible name. */
export function speak(entry) {
  const state = entry.drafted ? OUTCOME_WORDS[entry.outcome] : SOURCE_WORDS[entry.outcome];
  const extra = entry.region === "counterfactual" ? ", counterfactual under these knobs" : entry.changed ? ", changed by these knobs" : "";
  return `${spokenText(entry.token)}, ${state}${extra}`;
}

/** A token's children: leading spaces stay outside the coloured ink, so that no stub of colour hangs at a line's end. */
export function pieces(entry) {
  const text = named(entry.text);
  if (entry.text === "") return [mark("·", "", entry.token.bytes ? "part" : "void")];
  if (/^ +$/.test(text)) return [mark("·".repeat(text.length), text, "ws")];
  const space = /^ */.exec(text)[0];
  const out = space ? [space] : [];
  for (const part of text.slice(space.length).match(/[\n\t\r]|[^\n\t\r]+/g) ?? []) {
    if (part === "\n") out.push(mark("⏎", "", "nl"), entry.onPath ? "\n" : ""); // a draft that was turned away breaks no line
    else if (part === "\t") out.push(mark("⇥", entry.onPath ? "\t" : "", "tab"));
    else if (part === "\r") out.push(mark("␍", "", "cr"));
    else out.push(h("span.ink", {}, part));
  }
  return out;
}

/** A glyph for what has none. It is drawn by the style sheet, so that copied text stays the text. */
function mark(glyph, text, kind) {
  return h(`span.ink.mark.${kind}`, { "data-mark": glyph }, h("span.real", {}, text));
}

/** What the tooltip of a token says. */
export function tip(entry, gate) {
  const { token } = entry;
  const rows = [];
  if (entry.drafted) {
    rows.push(["verdict", OUTCOME_WORDS[entry.outcome] + (entry.region === "counterfactual" ? " (as recorded)" : "")]);
    if (token.target_prob !== null) rows.push(["p / q", `${probability(token.target_prob)} / ${probability(token.draft_prob)}`]);
    else rows.push(["q", probability(token.draft_prob)]);
    if (token.uniform !== null) rows.push(["u ≤ min(1, p/q)", `${fixed(token.uniform, 3)} ≤ ${fixed(token.accept_prob, 3)} ${token.uniform <= token.accept_prob ? "✓" : "✗"}`]);
    rows.push(["H draft", `${fixed(token.draft_entropy, 2)} nats`]);
    if (token.target_entropy !== null) rows.push(["H target", `${fixed(token.target_entropy, 2)} nats`]);
    if (token.target_top) rows.push([`overlap, k = ${gate.k}`, fixed(QUANTITIES.overlap.of(entry, gate), 2)]);
  } else {
    rows.push(["from", SOURCE_WORDS[token.source]]);
    rows.push(["probability", probability(token.prob)]);
    rows.push(["H target", `${fixed(token.target_entropy, 2)} nats`]);
  }
  const where = `round ${entry.round}` + (entry.drafted ? `, draft ${token.draft_index}` : "") + `, position ${token.position}`;
  return { title: h("code", {}, title(entry)), rows, foot: where };
}
