// The law of the emitted token at the selected place: target, draft, and what is emitted with the gate open, over the top k tokens.

import { h, fixed, probability, visibleText } from "../dom.js";

/**
 * P(y) over the joined top lists, by the closed forms. target: beta p + max(p - q, 0). exclude: sum over x != y of
 * min(p, q)(x) p(y) / (1 - p(x)) + max(p - q, 0)(y). A token that one list lacks counts as 0 there, and the mass of min(p, q)
 * outside both lists as spread thin: `isNear` where that makes the row an estimate, good to what the lists leave out.
 */
export function emittedLaw(token, rule, k) {
  const p = new Map(token.target_top.map(([id, , prob]) => [id, prob]));
  const q = new Map(token.draft_top.map(([id, , prob]) => [id, prob]));
  const text = new Map([...token.draft_top, ...token.target_top].map(([id, words]) => [id, words]));
  const low = (id) => Math.min(p.get(id) ?? 0, q.get(id) ?? 0);
  const listed = [...text.keys()].reduce((sum, id) => sum + low(id), 0);
  const away = (id) => (1 - (p.get(id) ?? 0) > 1e-9 ? low(id) / (1 - (p.get(id) ?? 0)) : 0);
  const allAway = [...text.keys()].reduce((sum, id) => sum + away(id), Math.max(0, token.beta - listed));
  const emitted = (id) => {
    const mine = p.get(id) ?? 0;
    const resampled = rule === "target" ? token.beta * mine : (allAway - away(id)) * mine;
    return Math.min(1, resampled + Math.max(mine - (q.get(id) ?? 0), 0));
  };
  const shown = new Set([...token.target_top.slice(0, k), ...token.draft_top.slice(0, k)].map(([id]) => id));
  const rows = [...shown].map((id) => ({ id, text: text.get(id), target: p.get(id) ?? 0, draft: q.get(id) ?? 0, emitted: emitted(id), isNear: rule !== "target" || !p.has(id) || !q.has(id), me: id === token.token_id }));
  return rows.sort((a, b) => b.target - a.target || b.draft - a.draft);
}

const NEAR = "≈: an estimate from the recorded top lists; what a list leaves out counts as 0.";

const figure = (row, name) => (name === "emitted" && row.isNear ? `≈ ${probability(row.emitted)}` : probability(row[name]));

export class Law {
  constructor(element, store) {
    this.store = store;
    this.aside = h("span.ez-aside");
    this.body = h("div.ez-card.ez-law");
    element.append(h("div.ez-head", {}, h("h2", {}, "Distribution shift"), this.aside), this.body);
    store.subscribe((what) => (what.size === 1 && what.has("style") ? null : this.#draw()));
  }

  #draw() {
    const { store } = this;
    const entry = store.find(store.selected);
    const token = entry?.drafted && entry.token.target_top ? entry.token : null;
    this.body.classList.toggle("is-empty", !token);
    this.aside.textContent = "";
    if (!token) {
      this.body.replaceChildren(h("p.ez-empty", {}, "Select a drafted token to see what would be emitted in its place, beside what the target would have said."));
      return;
    }
    const { gate } = store;
    const { outcome } = store.verdict(entry);
    const tv = gate.resample === "target" ? token.tv_target : token.tv_exclude;
    const open = outcome === "gated" ? "gated here" : "if the gate were open here";
    this.aside.textContent = `${fixed(tv, 3)} TV from the target, ${open}`;
    const rows = emittedLaw(token, gate.resample, gate.k);
    const most = Math.max(...rows.flatMap((row) => [row.target, row.draft, row.emitted]), 1e-6);
    const { config } = store.trace.head;
    const plain = config.temperature > 0 && config.top_k === 0 && config.top_p === 1;
    const note = "Drawn from the whole softmax; this run samples from a truncated or greedy one, which the TV above is of.";
    this.body.replaceChildren(
      h("div.ez-law-legend", {}, ["target", "draft", "emitted"].map((name) => h(`span.${name}`, {}, name === "emitted" ? "emitted with the gate open" : name))),
      h("ol", {}, rows.slice(0, 12).map((row) => this.#row(row, most))),
      ...(rows.slice(0, 12).some((row) => row.isNear) ? [h("p.ez-quiet", {}, NEAR)] : []),
      ...(plain ? [] : [h("p.ez-quiet", {}, note)]),
    );
  }

  #row(row, most) {
    const bar = (name) => h("span.ez-law-bar", {}, h(`i.${name}`, { "--w": `${(100 * row[name]) / most}%` }), h("span.ez-num", {}, figure(row, name)));
    const says = `target ${probability(row.target)}, draft ${probability(row.draft)}, emitted ${figure(row, "emitted")}`;
    return h(`li${row.me ? ".me" : ""}`, { "aria-label": `${row.text}: ${says}${row.me ? ", the drafted token" : ""}` }, h("code", { title: row.text }, visibleText({ text: row.text })), h("div", { "aria-hidden": "true" }, bar("target"), bar("draft"), bar("emitted")));
  }
}
