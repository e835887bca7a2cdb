// Chapter 1: one token at a time, and what a distribution is.

import { h, fixed } from "../../dom.js";
import { distribution, pile, quoted, walker } from "../figures.js";
import { under } from "../laws.js";
import { decided, textBefore } from "../text_before.js";

export const oneToken = {
  title: "One token at a time",
  why: [
    "A language model does one thing: it reads a text and gives every token that could come next a probability. A token is a word or a piece of one. One is drawn, joins the text, and the model reads again.",
    "So a text of a hundred tokens takes a hundred passes through the model, one after the other. Speculative decoding is about that wait.",
  ],
  make(body, { store }) {
    const entries = decided(store);
    let at = 0;
    let draws = new Map();
    let u = null;
    const text = h("p.ez-reading");
    const figure = h("div");
    const move = walker("position", (by) => {
      at = Math.min(Math.max(at + by, 0), entries.length - 1);
      draws = new Map();
      u = null;
      draw();
    });
    const says = h("p.ez-says", { role: "status" });
    const roll = (times) => {
      for (let i = 0; i < times; i++) {
        u = 1 - Math.random(); // in (0, 1], as the engine's own draws
        const id = entries[at].token.target_top[under(entries[at].token.target_top, u)]?.[0] ?? null;
        draws.set(id, (draws.get(id) ?? 0) + 1);
      }
      draw();
    };
    const draw = () => {
      const { token } = entries[at];
      const top = token.target_top;
      text.replaceChildren(textBefore(store, entries[at]), h("span.ez-gap", {}, "?"));
      move.where.textContent = `position ${token.position}`;
      move.back.disabled = at === 0;
      move.on.disabled = at === entries.length - 1;
      const drawn = u === null ? null : top[under(top, u)];
      const total = [...draws.values()].reduce((a, b) => a + b, 0);
      says.replaceChildren(
        ...(u === null
          ? ["Draw, and see where the number u falls on the pile of probabilities."]
          : [`u = ${fixed(u, 2)} falls on `, drawn ? quoted(drawn[1]) : "a token that is not in this list", `. ${total} ${total === 1 ? "draw" : "draws"} so far.`]),
      );
      figure.replaceChildren(
        pile(top, u),
        distribution("The target’s distribution", top, { mark: drawn?.[0] ?? null, counts: draws, note: `${store.trace.head.target_model.vocab_size.toLocaleString("en")} tokens share the probability 1` }),
      );
    };
    body.append(
      h("div.ez-lesson-row", {}, text, move.element),
      figure,
      h("div.ez-lesson-row", {}, says, h("span.ez-group", {}, h("button.ez-next", { type: "button", onclick: () => roll(1) }, "Draw a token"), h("button.ez-quiet-button", { type: "button", onclick: () => roll(100) }, "Draw 100"))),
    );
    body.append(h("p.ez-note-line", {}, "After many draws, each token’s share comes near its probability. That is what a distribution says, and all it says."));
    draw();
  },
};
