// The law of the emitted token at the selected place: target, draft, and what is emitted with the gate open, over the top k tokens.

import { h, fixed, probability, visibleText } from "../dom.js";
import { NEAR, emittedLaw } from "../laws.js";

/** The rows of both top-k lists, the target's likeliest first. */
function shownRows(token, rule, k) {
  const shown = new Set([...token.target_top.slice(0, k), ...token.draft_top.slice(0, k)].map(([id]) => id));
  return emittedLaw(token, rule)
    .filter(({ id }) => shown.has(id))
    .sort((a, b) => b.p - a.p || b.q - a.q);
}

const VALUE = { target: "p", draft: "q", emitted: "emitted" };
const figure = (row, name) => (name === "emitted" && row.isNear ? `≈ ${probability(row.emitted)}` : probability(row[VALUE[name]]));

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
    const rows = shownRows(token, gate.resample, gate.k);
    const most = Math.max(...rows.flatMap((row) => [row.p, row.q, row.emitted]), 1e-6);
    const { config } = store.trace.head;
    const plain = config.temperature > 0 && config.top_k === 0 && config.top_p === 1;
    const note = "Drawn from the whole softmax; this run samples from a truncated or greedy one, which the TV above is of.";
    this.body.replaceChildren(
      h("div.ez-law-legend", {}, ["target", "draft", "emitted"].map((name) => h(`span.${name}`, {}, name === "emitted" ? "emitted with the gate open" : name))),
      h("ol", {}, rows.slice(0, 12).map((row) => this.#row(row, most, token))),
      ...(rows.slice(0, 12).some((row) => row.isNear) ? [h("p.ez-quiet", {}, NEAR)] : []),
      ...(plain ? [] : [h("p.ez-quiet", {}, note)]),
    );
  }

  #row(row, most, token) {
    const bar = (name) => h("span.ez-law-bar", {}, h(`i.${name}`, { "--w": `${(100 * row[VALUE[name]]) / most}%` }), h("span.ez-num", {}, figure(row, name)));
    const says = `target ${probability(row.p)}, draft ${probability(row.q)}, emitted ${figure(row, "emitted")}`;
    return h(`li${row.id === token.token_id ? ".me" : ""}`, { "aria-label": `${row.text}: ${says}${row.id === token.token_id ? ", the drafted token" : ""}` }, h("code", { title: row.text }, visibleText({ text: row.text })), h("div", { "aria-hidden": "true" }, bar("target"), bar("draft"), bar("emitted")));
  }
}
