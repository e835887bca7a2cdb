// The exported page: one run that the page itself carries, with the app's own views. No server, no network.

import { Along } from "./charts/along.js";
import { ByIndex } from "./charts/by_index.js";
import { Plane } from "./charts/plane.js";
import { Ranks } from "./charts/ranks.js";
import { Rounds } from "./charts/rounds.js";
import { Cards } from "./cards.js";
import { pairLabel } from "./controls.js";
import { Details } from "./details.js";
import { saveText } from "./files.js";
import { storeOf } from "./store.js";
import { TokenText } from "./text.js";

const CHARTS = { plane: Plane, rounds: Rounds, along: Along, ranks: Ranks, by_index: ByIndex };

const { trace, name, figures } = window.easdPage;
const store = storeOf("run");

const VIEWS = {
  pair: (element) => pairLabel(element, store),
  cards: (element) => new Cards(element, store),
  tokens: (element) => new TokenText(element, store, {}),
  details: (element) => new Details(element, store),
  chart: (element) => new CHARTS[element.dataset.chart](element, store, figures[element.dataset.chart]),
};

/** A trace file's lines -> what the store takes. */
function parse(file) {
  const value = { head: null, steps: [], foot: null };
  for (const line of file.split("\n").filter(Boolean)) {
    const { kind } = JSON.parse(line);
    if (kind === "step") value.steps.push(line);
    else value[kind === "header" ? "head" : "foot"] = line;
  }
  return value;
}

for (const element of document.querySelectorAll("[data-view]")) VIEWS[element.dataset.view](element);
store.setValue(parse(trace));
document.querySelector("#save-trace").addEventListener("click", () => saveText(trace, `${name}.jsonl`, "application/jsonl"));
document.body.dataset.ready = "yes";
window.easd = { store: storeOf };
