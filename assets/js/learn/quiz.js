// Predict, then reveal: a real drafted token with its numbers, a guess by button or letter, then the verdict and its arithmetic.

import { h, fixed, probability, visibleText } from "../dom.js";
import { judge, overlapOf } from "../decide.js";
import { SOURCE_WORDS } from "../words.js";
import { mixed } from "./laws.js";
import { decided, textBefore } from "./text_before.js";

const GLYPH = { accepted: "●", rejected: "×", gated: "◆" };
const NAMES = { accepted: "Accept", rejected: "Reject", gated: "Gate" };
const sub = (symbol, index) => h("span.ez-sub", {}, symbol, h("sub", {}, index));
const pill = (outcome) => h(`span.ez-pill.${outcome}`, {}, h("span", { "aria-hidden": "true" }, `${GLYPH[outcome]} `), outcome);
const code = (text) => h("code.ez-word", {}, visibleText({ text }));

export class Quiz {
  /**
   * @param name which score it counts for
   * @param gate the gate that is asked about; a closed one asks about SD's test alone
   * @param choices outcomes to choose from
   * @param onQuestion called with the entry whenever another question is up
   */
  constructor(element, context, { name, gate, choices, onQuestion = () => {} }) {
    Object.assign(this, { context, name, gate, choices, onQuestion });
    const outcome = (entry) => judge(entry.token, gate).outcome;
    this.questions = mixed(decided(context.store), outcome);
    this.box = h("div.ez-card.ez-quiz", { role: "group", "aria-label": "Predict, then reveal" });
    this.box.addEventListener("keydown", (event) => this.#letter(event));
    element.append(this.box);
    this.#ask(false);
  }

  #ask(focus) {
    const { memory, store, example } = this.context;
    this.n = memory.next(this.name, example) % Math.max(1, this.questions.length);
    this.entry = this.questions[this.n] ?? null;
    if (!this.entry) {
      this.box.replaceChildren(h("p.ez-empty", {}, "This example holds no token that was decided on."));
      return;
    }
    this.answered = false;
    this.box.dataset.key = this.entry.key;
    this.buttons = this.choices.map((outcome) => this.#button(outcome));
    this.reveal = h("div.ez-reveal", { role: "status" });
    this.box.replaceChildren(
      this.#scoreLine(),
      h("p.ez-reading", {}, textBefore(store, this.entry), h("span.ez-gap", {}, visibleText(this.entry.token))),
      this.#given(),
      h("p.ez-ask", {}, "What happens to ", code(this.entry.token.text), "?"),
      h("div.ez-answers", {}, this.buttons),
      this.reveal,
    );
    if (focus) this.buttons[0].focus({ preventScroll: true });
    this.onQuestion(this.entry);
  }

  #scoreLine() {
    const { right, asked } = this.context.memory.score(this.name);
    this.scored = h("span.ez-score", {}, asked ? `${right} of ${asked} right` : "no answer yet");
    return h("div.ez-quiz-head", {}, h("h3", {}, "Predict, then reveal"), this.scored);
  }

  #button(outcome) {
    const letter = NAMES[outcome][0];
    return h(
      `button.ez-answer.${outcome}`,
      { type: "button", "aria-keyshortcuts": letter, onclick: () => this.#answer(outcome) },
      h("span", { "aria-hidden": "true" }, GLYPH[outcome]),
      ` ${NAMES[outcome]} `,
      h("kbd", { "aria-hidden": "true" }, letter),
    );
  }

  #letter(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const outcome = this.choices.find((each) => NAMES[each][0].toLowerCase() === event.key.toLowerCase());
    if (outcome && !this.answered) this.#answer(outcome);
  }

  /** The numbers that decide it, as far as this chapter asks for them. */
  #given() {
    const { token } = this.entry;
    const { gate } = this;
    const fact = (name, value, limit = null) => h("span", {}, name, " ", h("b", {}, value), limit && h("small", {}, limit));
    const facts = [fact("q(x)", probability(token.draft_prob)), fact("p(x)", probability(token.target_prob)), fact("u", fixed(token.uniform, 3))];
    if (this.choices.includes("gated")) {
      facts.push(
        fact(sub("H", "draft"), fixed(token.draft_entropy, 2), ` τ ${fixed(gate.draft_threshold, 2)}`),
        fact(sub("H", "target"), fixed(token.target_entropy, 2), ` τ ${fixed(gate.target_threshold, 2)}`),
        fact("overlap", fixed(overlapOf(token, gate.k), 2), ` ρ ${fixed(gate.overlap_threshold, 2)}`),
      );
    }
    return h("p.ez-facts.ez-given", {}, facts);
  }

  #answer(said) {
    if (this.answered) return;
    this.answered = true;
    const verdict = judge(this.entry.token, this.gate);
    const right = said === verdict.outcome;
    const { memory, example } = this.context;
    memory.answered(this.name, right);
    memory.setNext(this.name, example, (this.n + 1) % this.questions.length);
    const { right: sum, asked } = memory.score(this.name);
    this.scored.textContent = `${sum} of ${asked} right`;
    for (const [i, button] of this.buttons.entries()) {
      button.disabled = true;
      button.classList.toggle("is-said", this.choices[i] === said);
      button.classList.toggle("is-right", this.choices[i] === verdict.outcome);
    }
    const next = h("button.ez-next", { type: "button", onclick: () => this.#ask(true) }, "Next question");
    this.reveal.replaceChildren(
      h("p.ez-verdict", { "data-right": right }, h("b", {}, right ? "Right: " : "Not so: "), pill(verdict.outcome)),
      ...arithmetic(this.entry, verdict, this.gate, this.choices.includes("gated")).map((line) => h("p", {}, line)),
      ...this.#instead(verdict),
      next,
    );
    next.focus({ preventScroll: true });
  }

  /** What the recorded run emitted in its place, where it had the same verdict. */
  #instead(verdict) {
    const emitted = verdict.outcome === this.entry.recorded && verdict.outcome !== "accepted" ? this.context.store.replacement(this.entry) : null;
    if (!emitted) return [];
    return [h("p", {}, `Instead, ${SOURCE_WORDS[emitted.source]}: `, code(emitted.text), ` with probability ${probability(emitted.prob)}.`)];
  }
}

/** The worked lines of a verdict, each an array of children. */
export function arithmetic(entry, verdict, gate, withGate) {
  const { token } = entry;
  const lines = [
    [
      `min(1, p/q) = min(1, ${probability(token.target_prob)} / ${probability(token.draft_prob)}) = `,
      h("b", {}, fixed(verdict.accept_prob, 3)),
      `; u = ${fixed(token.uniform, 3)} ${verdict.accepted_by_sd ? "≤" : ">"} ${fixed(verdict.accept_prob, 3)} → ${verdict.accepted_by_sd ? "accepted by SD" : "rejected by SD"}.`,
    ],
  ];
  if (!withGate) return lines;
  if (!verdict.accepted_by_sd) return [...lines, ["The gate is not asked: it only sees tokens that SD accepts."]];
  const test = (name, value, limit, holds) => [name, ` ${value} ${holds ? "≥" : "<"} ${limit} `, h(holds ? "i.yes" : "i.no", { "aria-label": holds ? "holds" : "fails" }, holds ? "✓" : "✗"), " "];
  const all = verdict.draft_uncertain && verdict.target_uncertain && verdict.agreeing;
  lines.push([
    ...test(sub("H", "draft"), fixed(token.draft_entropy, 2), fixed(gate.draft_threshold, 2), verdict.draft_uncertain),
    ...test(sub("H", "target"), fixed(token.target_entropy, 2), fixed(gate.target_threshold, 2), verdict.target_uncertain),
    ...test("overlap", fixed(overlapOf(token, gate.k), 2), fixed(gate.overlap_threshold, 2), verdict.agreeing),
    all ? "→ all three hold: gated." : "→ not all three hold: the gate stays shut, the token is accepted.",
  ]);
  return lines;
}
