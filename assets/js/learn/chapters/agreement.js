// Chapter 5: agreement. The overlap of the two top-k lists, at any k.

import { h, fixed } from "../../dom.js";
import { overlapOf } from "../../decide.js";
import { lists } from "../../details.js";
import { range, walker } from "../figures.js";
import { decided, textBefore } from "../text_before.js";

export const agreement = {
  title: "Agreement",
  why: [
    "Two models can be unsure in two ways: torn between the same few tokens, or each between its own. The first says that the position itself is open. The second says that they see different continuations.",
    "The overlap tells them apart: take the k likeliest tokens of both, and see which share of them stands in both lists. It looks at the names on the lists alone, not at their order or their probabilities.",
  ],
  make(body, { store }) {
    const entries = decided(store);
    let k = store.gate.k;
    let at = 0;
    const text = h("p.ez-reading");
    const figure = h("div");
    const says = h("p.ez-big", { role: "status" });
    const most = (sign) => {
      // of those that agree alike, the most unsure one says most
      const better = (a, b) => sign * (overlapOf(b.token, k) - overlapOf(a.token, k)) || b.token.target_entropy - a.token.target_entropy;
      at = entries.indexOf([...entries].sort(better)[0]);
      draw();
    };
    const move = walker("position", (by) => {
      at = Math.min(Math.max(at + by, 0), entries.length - 1);
      draw();
    });
    const slider = range("k, length of the lists", { min: 1, max: 20, step: 1, value: k, show: (v) => v.toFixed(0) }, (value) => {
      k = value;
      draw();
    });
    const draw = () => {
      const { token } = entries[at];
      const shared = Math.round(overlapOf(token, k) * k);
      text.replaceChildren(textBefore(store, entries[at]), h("span.ez-gap", {}, "?"));
      says.replaceChildren(h("b", {}, fixed(overlapOf(token, k), 2)), h("span", {}, `overlap: ${shared} of ${k} tokens in both lists`));
      figure.replaceChildren(lists(token, k));
      move.where.textContent = `position ${token.position}`;
      move.back.disabled = at === 0;
      move.on.disabled = at === entries.length - 1;
    };
    body.append(
      h("div.ez-lesson-row", {}, text, move.element),
      h("div.ez-lesson-row", {}, says, slider.element, h("span.ez-group", {}, h("button.ez-quiet-button", { type: "button", onclick: () => most(1) }, "Most agreed"), h("button.ez-quiet-button", { type: "button", onclick: () => most(-1) }, "Least agreed"))),
      figure,
    );
    most(1);
  },
};
