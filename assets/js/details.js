// The selected token: the rule with its numbers put in, both models' top lists joined where they agree, what was emitted instead.

import { h, svg, fixed, probability, visibleText } from "./dom.js";
import { spaced } from "./bytes.js";
import { canGo, goto } from "./learn/goto.js";
import { plainWords } from "./learn/plain_words.js";
import { SOURCE_WORDS } from "./words.js";

const SUB = (symbol, index) => h("span.ez-sub", {}, symbol, h("sub", {}, index));
const tick = (yes) => h(yes ? "i.yes" : "i.no", { "aria-label": yes ? "holds" : "fails" }, yes ? "✓" : "✗");
const GLYPH = { accepted: "●", rejected: "×", gated: "◆", discarded: "·" };
export const pill = (outcome, words) => h(`span.ez-pill.${outcome}`, {}, h("span", { "aria-hidden": "true" }, `${GLYPH[outcome]} `), words ?? outcome);
export const word = (token) => h("code.ez-word", {}, visibleText(token));
const threshold = (value) => (value === Infinity ? "∞" : fixed(value, 2));

export class Details {
  constructor(element, store) {
    this.store = store;
    this.heading = h("h2", {}, "Token");
    this.where = h("span.ez-aside");
    this.body = h("div.ez-card.ez-details");
    element.append(h("div.ez-head", {}, this.heading, this.where), this.body);
    store.subscribe((what) => (what.size === 1 && what.has("style") ? null : this.#draw()));
  }

  #draw() {
    const { store } = this;
    const entry = store.find(store.selected);
    this.heading.replaceChildren(...(entry ? ["Token ", h("code", {}, visibleText(entry.token))] : ["Token"]));
    this.where.textContent = entry ? this.#whereabouts(entry) : "";
    this.body.classList.toggle("is-empty", !entry);
    if (!entry) {
      const hint = store.trace ? "Select a token in the text or in a chart to see how it was decided." : "The selected token’s verdict, with its numbers, appears here.";
      this.body.replaceChildren(h("p.ez-empty", {}, hint));
      return;
    }
    this.body.replaceChildren(...(entry.drafted ? this.#drafted(entry) : this.#emitted(entry)).filter(Boolean));
  }

  #whereabouts({ round, token, drafted }) {
    const parts = [`round ${round}`, drafted ? `draft ${token.draft_index}` : SOURCE_WORDS[token.source], `position ${token.position}`, `id ${token.token_id}`];
    if (token.bytes) parts.push(`bytes ${spaced(token.bytes)}`);
    return parts.join(" · ");
  }

  #drafted(entry) {
    const { token } = entry;
    if (!token.target_top) return this.#draftOnly(token);
    const verdict = this.store.verdict(entry);
    return [
      this.#plainly(entry),
      entry.region === "exact" && !entry.changed ? null : this.#caution(entry),
      h("dl.ez-rule", {}, this.#sdTest(token, verdict), this.#gateTest(entry, verdict), this.#outcome(entry)),
      this.#closeness(token),
      lists(token, this.store.gate.k),
    ];
  }

  /** The verdict for a newcomer, and the way to the chapter on it. */
  #plainly(entry) {
    const { text, chapter } = plainWords(entry);
    const learn = canGo() && h("button.ez-link", { type: "button", onclick: () => goto(chapter) }, "Learn the rule");
    return h("p.ez-plainly", {}, `${text} `, learn);
  }

  #caution(entry) {
    const text = {
      counterfactual: "After the boundary: judged on the recorded path, which these knobs would have left. The verdict below is an estimate.",
      in_round: "Not verified in the recorded run, but its numbers were recorded: this verdict is exact under the present knobs.",
      exact: `Recorded as ${entry.recorded}; under the present knobs the verdict is another one. It is exact: all before it is unchanged.`,
    }[entry.region];
    return h("p.ez-caution", {}, text);
  }

  #sdTest(token, verdict) {
    const { draft_prob: q, target_prob: p, uniform } = token;
    return [
      h("dt", {}, "1 · SD test"),
      h(
        "dd",
        {},
        `min(1, p/q) = min(1, ${probability(p)}/${probability(q)}) = `,
        h("b", {}, fixed(verdict.accept_prob, 2)),
        "; u = ",
        h("b", {}, fixed(uniform, 2)),
        verdict.accepted_by_sd ? " ≤ " : " > ",
        fixed(verdict.accept_prob, 2),
        " → ",
        verdict.accepted_by_sd ? "accepted by SD" : pill("rejected", "rejected by SD"),
      ),
    ];
  }

  #gateTest(entry, verdict) {
    const { token } = entry;
    const { gate } = this.store;
    if (!verdict.accepted_by_sd) return [h("dt", {}, "2 · Gate"), h("dd.is-quiet", {}, "not asked: the gate only sees tokens that SD accepts")];
    if (gate.draft_threshold === Infinity && gate.target_threshold === Infinity) return [h("dt", {}, "2 · Gate"), h("dd.is-quiet", {}, "closed (plain SD)")];
    const size = Math.min(gate.k, token.draft_top.length, token.target_top.length);
    const draft = new Set(token.draft_top.slice(0, size).map((t) => t[0]));
    const shared = token.target_top.slice(0, size).filter((t) => draft.has(t[0])).length;
    const conditions = [
      [SUB("H", "draft"), fixed(token.draft_entropy, 2), threshold(gate.draft_threshold), verdict.draft_uncertain],
      [SUB("H", "target"), fixed(token.target_entropy, 2), threshold(gate.target_threshold), verdict.target_uncertain],
      ["overlap", `${shared}/${size}`, fixed(gate.overlap_threshold, 2), verdict.agreeing],
    ];
    const every = verdict.draft_uncertain && verdict.target_uncertain && verdict.agreeing;
    const kept = every && verdict.outcome === "accepted" ? ", but p(x) = 1: there is nothing else to draw" : "";
    return [
      h("dt", {}, "2 · Gate"),
      h(
        "dd",
        {},
        conditions.map(([name, value, limit, holds]) => h("span.ez-condition", {}, name, " ", h("b", {}, value), holds ? ` ≥ ${limit} ` : ` < ${limit} `, tick(holds))),
        "→ ",
        pill(verdict.outcome, verdict.outcome === "gated" ? "gated" : `accepted${kept}`),
      ),
    ];
  }

  #outcome(entry) {
    const head = h("dt", {}, "3 · Emit");
    const { outcome } = entry;
    if (outcome === "accepted") return [head, h("dd", {}, "the drafted token itself: ", word(entry.token))];
    if (outcome === "discarded") return [head, h("dd", {}, pill("discarded"), " an earlier token ended the round; judged here only as a what-if")];
    // A token that was turned away in the recorded run, in the same way, has its recorded replacement; any other would have to be drawn anew.
    const sameRule = this.store.gate.resample === this.store.trace.head.config.resample || outcome === "rejected";
    const emitted = entry.recorded === outcome && sameRule ? this.store.replacement(entry) : null;
    const from = outcome === "rejected" ? "instead, from the residual: " : `instead, ${SOURCE_WORDS[this.store.gate.resample === "target" ? "target" : "target_excluding_draft"]}: `;
    if (!emitted) return [head, h("dd", {}, from, h("span.is-quiet", {}, "not known without a re-run"))];
    return [head, h("dd", {}, from, word(emitted), h("span.is-quiet", {}, ` with probability ${probability(emitted.prob)}`))];
  }

  #closeness(token) {
    const tv = this.store.gate.resample === "target" ? token.tv_target : token.tv_exclude;
    return h(
      "p.ez-facts",
      {},
      h("span", { title: "β = Σ min(p, q): the chance that SD accepts a draft drawn here" }, "β ", h("b", {}, fixed(token.beta, 2))),
      h("span", { title: "Total variation between the law of the emitted token with the gate open here and the target’s own: 0 is lossless" }, "distance from the target with the gate open ", h("b", {}, fixed(tv, 3)), " TV"),
    );
  }

  #draftOnly(token) {
    return [
      h("dl.ez-rule", {}, h("dt", {}, "Draft only"), h("dd", {}, "q = ", h("b", {}, probability(token.draft_prob)), ", ", SUB("H", "draft"), " ", h("b", {}, fixed(token.draft_entropy, 2)), " nats. No target verified it.")),
      h("div.ez-lists.is-single", {}, list("Draft’s top 10", token.draft_top, new Set(), token.token_id, 10)),
    ];
  }

  #emitted(entry) {
    const { token } = entry;
    const turned = this.store.entries.find((e) => e.round === entry.round && e.drafted && (e.recorded === "rejected" || e.recorded === "gated"));
    const why = turned
      ? h("dd", {}, "it replaces ", h("button.ez-link", { type: "button", onclick: () => this.store.select(turned.key) }, word(turned.token)), `, which was ${turned.recorded}`)
      : h("dd", {}, token.source === "bonus" ? "all drafted tokens of the round were accepted; this one has no draft, and the gate never sees it" : "a target-only run: each token is the target’s own");
    return [
      entry.region === "counterfactual" ? h("p.ez-caution", {}, "After the boundary: this token came from the recorded knobs. The present ones would have led elsewhere.") : null,
      h(
        "dl.ez-rule",
        {},
        h("dt", {}, "Source"),
        h("dd", {}, SOURCE_WORDS[token.source]),
        h("dt", {}, "Why"),
        why,
        h("dt", {}, "Numbers"),
        h("dd", {}, "drawn with probability ", h("b", {}, probability(token.prob)), "; p = ", h("b", {}, probability(token.target_prob)), "; ", SUB("H", "target"), " ", h("b", {}, fixed(token.target_entropy, 2)), " nats; u = ", h("b", {}, fixed(token.uniform, 2))),
      ),
    ];
  }
}

// ---- the two top lists --------------------------------------------------------------------------------------------

const ROW = 22; // px, as in the style sheet

export function lists(token, k) {
  const draft = token.draft_top.slice(0, k);
  const target = token.target_top.slice(0, k);
  const rank = new Map(target.map(([id], i) => [id, i]));
  const shared = new Set(draft.map(([id]) => id).filter((id) => rank.has(id)));
  const joints = draft.flatMap(([id], i) => (shared.has(id) ? [[i, rank.get(id), id === token.token_id]] : []));
  const height = ROW * Math.max(draft.length, target.length);
  return h(
    "div.ez-lists",
    {},
    list(`Draft’s top ${draft.length}`, draft, shared, token.token_id, k),
    svg(
      "svg",
      { class: "ez-joints", viewBox: `0 0 48 ${height}`, height, preserveAspectRatio: "none", "aria-hidden": "true" },
      ...joints.map(([from, to, me]) => svg("path", { class: me ? "me" : "", d: `M2 ${(from + 0.5) * ROW} C 24 ${(from + 0.5) * ROW}, 24 ${(to + 0.5) * ROW}, 46 ${(to + 0.5) * ROW}` })),
    ),
    list(`Target’s top ${target.length}`, target, shared, token.token_id, k, `${shared.size} of ${Math.min(draft.length, target.length)} in common`),
  );
}

function list(title, top, shared, me, k, aside = null) {
  const most = top[0]?.[2] || 1;
  return h(
    "div",
    {},
    h("h3", {}, title, aside && h("span", {}, aside)),
    h(
      "ol",
      {},
      top.map(([id, text, prob]) =>
        h(
          `li${shared.has(id) ? ".shared" : ""}${id === me ? ".me" : ""}`,
          {},
          h("code", { title: text }, visibleText({ text })),
          h("span.ez-bar", {}, h("i", { "--w": `${(100 * prob) / most}%` })),
          h("span.ez-num", {}, probability(prob)),
          shared.has(id) ? h("span.ez-sr", {}, ", in both lists") : null,
          id === me ? h("span.ez-sr", {}, ", the drafted token") : null,
        ),
      ),
    ),
  );
}
