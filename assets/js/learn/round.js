// One round in four beats, draft → verify → decide → emit: the picture of chapter 2, and of presenter mode in large.

import { h, fixed, probability, visibleText } from "../dom.js";
import { judge } from "../decide.js";
import { SOURCE_WORDS } from "../words.js";
import { textBeforeRound } from "./text_before.js";

export const BEATS = ["draft", "verify", "decide", "emit"];
const GLYPH = { accepted: "●", rejected: "×", gated: "◆", discarded: "·" };

/** What a beat shows, said in a sentence. */
export function sentence(round, beat) {
  const n = round.drafted.length;
  const turned = round.drafted.find((token) => token.outcome === "rejected" || token.outcome === "gated");
  const kept = round.drafted.filter((token) => token.outcome === "accepted").length;
  if (beat === 0) return `The draft model guesses ${n} ${n === 1 ? "token" : "tokens"}, one after another. It is small, so each guess is quick.`;
  if (beat === 1) return `The target model reads all ${n} in one pass, and says how likely it finds each of them.`;
  if (beat === 2) {
    if (!turned) return `Left to right, each u is compared with p/q. All ${n} are accepted.`;
    const at = `Left to right, each u is compared with p/q. Number ${turned.draft_index} is ${turned.outcome}`;
    return turned.outcome === "gated" ? `${at}: SD accepts it, yet both models are unsure and look at the same tokens.` : `${at}; what comes after it is discarded.`;
  }
  const own = kept === 0 ? "No guess survived" : `${kept} ${kept === 1 ? "guess joins" : "guesses join"} the text`;
  if (!round.emitted) return `${own}. The run ends here.`;
  if (round.emitted.source === "bonus") return `${own}, and the target’s last distribution gives one more for free: the bonus token.`;
  return `${own}. One token is ${SOURCE_WORDS[round.emitted.source].replace("drawn", "drawn instead")}.`;
}

export class RoundStage {
  constructor(element, store) {
    this.store = store;
    this.text = h("p.ez-stage-text");
    this.columns = h("ol.ez-columns");
    this.element = h("div.ez-stage", {}, this.text, this.columns);
    element.append(this.element);
  }

  /** `beat`: the last one that is shown, 0 to 3. */
  show(index, beat) {
    const round = this.store.trace.rounds[index];
    const emitted = this.#emitted(round);
    const before = textBeforeRound(this.store, index, 150);
    this.text.replaceChildren(h("span", {}, before || "The answer: "), ...(beat >= 3 ? emitted : [h("span.ez-caret", { "aria-hidden": "true" })]));
    this.columns.replaceChildren(...round.drafted.map((token) => this.#column(token, beat)), this.#last(round, beat));
    this.element.dataset.beat = BEATS[beat];
  }

  #emitted(round) {
    const tokens = [...round.drafted.filter((token) => token.outcome === "accepted").map((token) => [token, "accepted"])];
    if (round.emitted) tokens.push([round.emitted, { residual: "residual", bonus: "bonus" }[round.emitted.source] ?? "target"]);
    return tokens.map(([token, kind]) => h(`span.tok.${kind}`, {}, h("span.ink", {}, token.bytes ? visibleText(token) : token.text.replaceAll("\n", " ⏎ "))));
  }

  #column(token, beat) {
    const judged = judge(token, this.store.gate);
    const show = beat >= 2 ? token.outcome : "waiting";
    const line = (name, value, on) => h(`div.ez-line${on ? "" : ".is-off"}`, {}, h("span", {}, name), h("b", {}, on ? value : "–"));
    const test = token.outcome === "discarded" ? "not asked" : `${fixed(token.uniform, 2)} ${judged.accepted_by_sd ? "≤" : ">"} ${fixed(judged.accept_prob, 2)}`;
    return h(
      `li.ez-column.${show}`,
      {},
      h("span.ez-index", { "aria-hidden": "true" }, token.draft_index),
      h("code.ez-guess", {}, visibleText(token)),
      line("q", probability(token.draft_prob), true),
      line("p", probability(token.target_prob), beat >= 1),
      line("u, p/q", test, beat >= 2),
      h("span.ez-outcome", {}, beat >= 2 ? [h("span", { "aria-hidden": "true" }, `${GLYPH[token.outcome]} `), token.outcome] : " "),
    );
  }

  /** What the target adds itself, in the last column. */
  #last(round, beat) {
    const { emitted } = round;
    const on = beat >= 3 && emitted;
    const kind = emitted ? ({ residual: "residual", bonus: "bonus" }[emitted.source] ?? "target") : "none";
    return h(
      `li.ez-column.ez-extra.${on ? kind : "waiting"}`,
      {},
      h("span.ez-index", {}, "from the target"),
      h("code.ez-guess", {}, on ? visibleText(emitted) : "?"),
      h("p.ez-from", {}, on ? SOURCE_WORDS[emitted.source] : beat >= 3 ? "nothing: the run ends" : ""),
    );
  }
}
