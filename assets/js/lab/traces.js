// The list of loaded traces, branches under their parents: a tick to count one, its name to show it, a cross to unload it.

import { h, named } from "../dom.js";
import { setShown } from "./counts.js";

export class Traces {
  constructor(element, props, watch, act) {
    this.act = act;
    this.props = props;
    this.list = h("ul.ez-traces", { "aria-label": "Loaded traces" });
    element.append(this.list);
    watch("value", () => this.#draw());
    this.#draw();
  }

  #draw() {
    const rows = this.props.value ?? [];
    const shown = rows.find((row) => row.shown);
    setShown(this.props.store, shown?.key ?? null);
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.act : null;
    this.list.replaceChildren(...(rows.length ? rows.map((row) => this.#row(row)) : [h("li.is-quiet", {}, "No trace yet.")]));
    if (focused) this.list.querySelector(`[data-act="${focused}"]`)?.focus();
  }

  #row(row) {
    const name = named(row.name);
    const tick = h("input", {
      type: "checkbox",
      checked: row.counts,
      disabled: !row.can_count,
      "aria-label": `Count ${name}`,
      title: row.can_count ? "Counted in rates, sweep, calibration and tables" : "This run decided on no token: nothing to count",
      "data-act": `toggle ${row.key}`,
      onchange: () => this.act("toggle", row.key),
    });
    const show = h(
      "button.ez-trace",
      { type: "button", "aria-current": row.shown ? "true" : null, "data-act": `show ${row.key}`, onclick: () => this.act("show", row.key) },
      h("b", {}, name),
      h("small", {}, row.note),
    );
    const drop = h("button.ez-drop", { type: "button", "aria-label": `Unload ${name}`, title: "Unload", onclick: () => this.act("remove", row.key) }, "×");
    return h("li", { "--depth": row.depth }, row.depth ? h("span.ez-fork", { "aria-hidden": "true" }, "└") : null, tick, show, drop);
  }
}
