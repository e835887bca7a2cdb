// A table that sorts by a click on a heading, filters as one types, and saves itself as CSV. Rows come from Python as lists.

import { h, visibleText } from "../dom.js";

const MOST = 200; // rows on the page; the file has all

export class Table {
  #column = null;
  #down = true;

  constructor(element, props, watch) {
    this.props = props;
    this.filter = h("input", { type: "search", placeholder: "filter", "aria-label": `Filter ${props.heading}`, oninput: () => this.#draw() });
    this.choice = h("select", { "aria-label": "Class", onchange: () => this.#draw() });
    this.aside = h("span.ez-aside");
    this.save = h("button.ez-button", { type: "button", onclick: () => this.#save() }, "Save CSV");
    this.table = h("table.ez-table");
    element.append(
      h("div.ez-head", {}, h("h2", {}, props.heading), h("div.ez-options", {}, this.aside, this.choice, this.filter, this.save)),
      h("div.ez-scroll", { tabindex: 0, role: "group", "aria-label": props.heading }, this.table),
    );
    watch("value", () => this.#update());
    this.#update();
  }

  #update() {
    const { columns = [], rows = [] } = this.props.value ?? {};
    this.columns = columns;
    this.rows = rows;
    const at = columns.findIndex((c) => c.kind === "choice");
    const chosen = this.choice.value;
    const choices = at < 0 ? [] : [...new Set(rows.map((row) => row[at]))].sort();
    this.choice.replaceChildren(h("option", { value: "" }, "every class"), ...choices.map((c) => h("option", { value: c }, c)));
    this.choice.value = choices.includes(chosen) ? chosen : "";
    this.choice.hidden = at < 0;
    this.filter.hidden = rows.length < 2 && !this.filter.value;
    this.#draw();
  }

  #shown() {
    const wanted = this.filter.value.toLowerCase();
    const kinds = this.columns.findIndex((c) => c.kind === "choice");
    const rows = this.rows.filter((row) => (!wanted || String(row[0]).toLowerCase().includes(wanted)) && (!this.choice.value || row[kinds] === this.choice.value));
    if (this.#column === null) return rows;
    const sign = this.#down ? -1 : 1;
    const order = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));
    return [...rows].sort((a, b) => sign * order(a[this.#column], b[this.#column]));
  }

  #draw() {
    const rows = this.#shown();
    this.aside.textContent = rows.length > MOST ? `first ${MOST} of ${rows.length}` : rows.length === this.rows.length ? `${rows.length}` : `${rows.length} of ${this.rows.length}`;
    this.save.disabled = !rows.length;
    const heads = this.columns.map((column, at) => this.#head(column, at));
    const body = rows.slice(0, MOST).map((row) => h("tr", {}, this.columns.map((column, at) => this.#cell(column, row[at]))));
    this.table.replaceChildren(
      h("thead", {}, h("tr", {}, heads)),
      h("tbody", {}, body.length ? body : [h("tr", {}, h("td.is-quiet", { colspan: this.columns.length || 1 }, "Nothing to list under these knobs."))]),
    );
  }

  #head(column, at) {
    const here = this.#column === at;
    const sort = () => {
      this.#down = here ? !this.#down : column.kind !== "token" && column.kind !== "text";
      this.#column = at;
      this.#draw();
      this.table.querySelectorAll("th button")[at].focus();
    };
    const state = here ? (this.#down ? "descending" : "ascending") : "none";
    return h(`th.${column.kind}`, { scope: "col", "aria-sort": state }, h("button", { type: "button", onclick: sort }, column.label, h("span", { "aria-hidden": "true" }, here ? (this.#down ? " ↓" : " ↑") : "")));
  }

  #cell(column, value) {
    if (column.kind === "token") return h("td.token", {}, h("code", {}, visibleText({ text: value })));
    if (column.kind === "number") return h("td.number", {}, value.toFixed(column.digits));
    return h(`td.${column.kind}`, {}, String(value));
  }

  #save() {
    const cell = (value) => {
      // A leading sign would make a spreadsheet run a token's text as a formula.
      const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const lines = [this.columns.map((c) => c.key), ...this.#shown()].map((row) => row.map(cell).join(","));
    const url = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
    const link = h("a", { href: url, download: `${this.props.value.name}.csv` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}
