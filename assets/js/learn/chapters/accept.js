// Chapter 3: accept or reject, and why what comes out has exactly the target's distribution.

import { h, fixed } from "../../dom.js";
import { splitFigure } from "../figures.js";
import { Quiz } from "../quiz.js";

export const accept = {
  title: "Accept or reject",
  why: [
    "A guess may be kept only if the text stays one that the target could have written, with the very same chances. The rule: keep x with probability min(1, p/q), where p is the target’s probability of x and q the draft’s. A number u between 0 and 1 decides: accepted if u ≤ min(1, p/q).",
    "A rejected guess is replaced by a draw from the residual, max(p − q, 0): what the draft guesses too seldom.",
  ],
  make(body, context) {
    const left = h("div");
    const picture = h("div");
    const right = h("div.ez-picture", {}, h("h3", {}, "Why nothing is lost"), picture);
    body.append(h("div.ez-two", {}, left, right));
    const gate = { ...context.store.gate, draft_threshold: Infinity, target_threshold: Infinity };
    new Quiz(left, context, {
      name: "sd",
      gate,
      choices: ["accepted", "rejected"],
      onQuestion: ({ token }) =>
        picture.replaceChildren(
          splitFigure(token),
          h("p.ez-note-line", {}, "Green and blue together are p, token for token. The draft changes how a token comes about, never how often. All the green is β = ", h("b", {}, fixed(token.beta, 2)), ": the chance that a guess at this position is kept."),
        ),
    });
  },
};
