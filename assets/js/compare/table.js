// Tables of a comparison: every metric of every lane with its difference to lane A, and what several seeds say about it.

import { h } from "../dom.js";
import { badge } from "./lane.js";

const ARROWS = { "-1": "▼", 0: "=", 1: "▲" };

function difference(cell) {
  if (cell.difference === null) return null;
  return h("span.ez-difference", { "data-sign": cell.sign }, h("span", { "aria-hidden": "true" }, ARROWS[cell.sign]), ` ${cell.difference}`);
}

/** @param table [{label, cells: [{text, counts, difference, sign}]}], lanes: [{letter, name}] */
export function metricsTable(table, lanes) {
  return h(
    "table.ez-metrics",
    {},
    h("caption.ez-sr", {}, "Metrics of every lane, with the difference to lane A"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Metric"), lanes.map(({ letter, name }) => h("th", { scope: "col" }, badge(letter), " ", name)))),
    h(
      "tbody",
      {},
      table.map(({ key, label, cells }) =>
        h(
          "tr",
          { "data-metric": key },
          h("th", { scope: "row" }, label),
          cells.map((cell) => h("td", {}, h("b", {}, cell.text), difference(cell), h("small", {}, cell.counts))),
        ),
      ),
    ),
  );
}
