// What the knobs come to over all traces that count: gate rate, changed verdicts, and the list of those.

import { h, percent, visibleText, spokenText } from "../dom.js";
import { storeOf } from "../store.js";

const MOST = 150; // rows of the list; what is more is counted
const many = (n, one) => `${n.toLocaleString("en")} ${n === 1 ? one : `${one}s`}`;

/** A line that follows every move: the live rate beside the recorded one. */
export class Counts {
  constructor(element, pool) {
    this.line = h("div.ez-lab-counts", { role: "status", "aria-live": "polite" });
    element.append(this.line);
    pool.subscribe(() => this.#draw(pool));
  }

  #draw({ sums, traces }) {
    if (!traces.length) {
      this.line.replaceChildren(h("span.is-quiet", {}, "No run is counted. Open traces, or tick one in the list."));
      return;
    }
    const rate = sums.bySd ? sums.gated / sums.bySd : null;
    this.line.replaceChildren(
      h("span.ez-lab-rate", {}, h("b", {}, percent(rate)), " gate rate"),
      h("span", {}, `${sums.gated.toLocaleString("en")} of ${sums.bySd.toLocaleString("en")} accepted by SD`),
      h("span", {}, `recorded: ${sums.recorded.toLocaleString("en")} gated`),
      h("span", {}, h("b", {}, sums.changed.toLocaleString("en")), ` changed of ${many(sums.n, "decided token")}`),
      h("span.is-quiet", { title: "Each token is judged on the path that was recorded; with these knobs the text would have been another one." }, "estimates on the recorded path"),
    );
  }
}

/** The changed verdicts, in order; a click shows the token in its text. */
export class Changes {
  constructor(element, pool, store, onShow) {
    this.pool = pool;
    this.store = store;
    this.onShow = onShow;
    this.aside = h("span.ez-aside");
    this.list = h("ol.ez-changes", { "aria-label": "Changed verdicts", tabindex: 0 });
    element.append(h("div.ez-head", {}, h("h2", {}, "Changed verdicts"), this.aside), h("div.ez-card", {}, this.list));
    this.list.addEventListener("click", (event) => {
      const row = event.target.closest("[data-at]");
      if (row) this.#show(this.rows[Number(row.dataset.at)]);
    });
    pool.subscribe(() => this.#draw());
    store.subscribe((what) => (what.has("gate") || what.has("trace") || what.has("steps") ? this.#draw() : null));
  }

  #pending = false;

  #draw() {
    if (this.#pending) return; // a drag moves faster than a list can be read: once a frame is enough
    this.#pending = true;
    requestAnimationFrame(() => {
      this.#pending = false;
      this.#drawNow();
    });
  }

  #drawNow() {
    const { sums } = this.pool;
    this.rows = this.pool.gate ? this.pool.changes(MOST) : [];
    this.aside.textContent = sums.changed > this.rows.length ? `first ${this.rows.length} of ${sums.changed.toLocaleString("en")}` : this.rows.length ? String(this.rows.length) : "";
    if (!this.rows.length) {
      this.list.replaceChildren(h("li.is-quiet.is-none", {}, "These knobs change no verdict."));
      return;
    }
    this.list.replaceChildren(...this.rows.map((row, at) => this.#row(row, at)));
  }

  #row(row, at) {
    const region = this.#region(row);
    const several = this.pool.traces.length > 1;
    const why = row.flippedBy.length ? row.flippedBy.join(" and ") : "forced";
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", "data-at": at, "aria-label": `${spokenText(row.token)}, ${row.was} to ${row.now} by ${why}${region ? `, ${REGION_WORDS[region]}` : ""}` },
        h("span.ez-context", {}, one(row.context), h(`b.${row.now}`, {}, visibleText(row.token))),
        h("span.ez-turn", {}, h(`i.${row.was}`, {}, row.was), " → ", h(`i.${row.now}`, {}, row.now)),
        h("span.ez-why", {}, `by ${why}`),
        h("span.ez-where", {}, [several ? row.name : null, `round ${row.round}`, region ? REGION_WORDS[region] : null].filter(Boolean).join(" · ")),
      ),
    );
  }

  /** Exact, in-round or counterfactual, for tokens of the text that is shown. */
  #region(row) {
    if (!isShown(this.store, row.key)) return null;
    return this.store.entries.find((e) => e.drafted && e.token.position === row.position && e.round === row.round)?.region ?? null;
  }

  #show(row) {
    const select = () => {
      const entry = this.store.entries.find((e) => e.drafted && e.token.position === row.position && e.round === row.round);
      if (entry) this.store.select(entry.key);
    };
    if (isShown(this.store, row.key)) return select();
    const { generation } = this.store;
    this.onShow(row.key);
    const stop = this.store.subscribe((what) => {
      if (!what.has("trace") || this.store.generation === generation) return;
      stop();
      setTimeout(select);
    });
  }
}

const REGION_WORDS = { exact: "exact", in_round: "in-round exact", counterfactual: "counterfactual" };
const one = (text) => text.replaceAll("\n", "⏎").replaceAll("\t", "⇥");

let shown = null; // {store, key} of the trace in the lab's text, as Python last said

export function setShown(name, key) {
  shown = { store: storeOf(name), key };
}

function isShown(store, key) {
  return shown !== null && shown.store === store && shown.key === key;
}
