// Chapter 6: the gate, and why it is not lossless: its closed form, drawn.

import { h, fixed } from "../../dom.js";
import { gateFigure } from "../figures.js";
import { Quiz } from "../quiz.js";

const STATES = { target: "open, target", exclude: "open, exclude", closed: "closed" };

export const gate = {
  title: "The gate",
  why: [
    "SD keeps a guess whenever the numbers allow, also where neither model knows how to go on. EASD’s bet: where both are unsure and yet torn between the same tokens, a kept guess is a common weakness, not a sign of quality. So it asks once more: H_draft ≥ τ_draft, H_target ≥ τ_target and overlap ≥ ρ? If all three hold, the token is gated: rejected although SD accepted it, and a new one is drawn from the target.",
    "The three answers: accepted, rejected by SD, or accepted by SD and then gated.",
  ],
  make(body, context) {
    const left = h("div");
    const picture = h("div");
    let state = context.store.gate.resample;
    let token = null;
    const toggle = h(
      "div.ez-beats",
      { role: "group", "aria-label": "The gate at this position, and what an open one resamples from" },
      Object.entries(STATES).map(([name, label]) => h("button", { type: "button", "data-state": name, onclick: () => { state = name; draw(); } }, label)),
    );
    const draw = () => {
      for (const button of toggle.children) button.setAttribute("aria-pressed", button.dataset.state === state);
      picture.replaceChildren(gateFigure(token, state === "closed" ? null : state), formula(token, state));
    };
    const right = h("div.ez-picture", {}, h("div.ez-lesson-row", {}, h("h3", {}, "Why it is not lossless"), toggle), picture);
    body.append(h("div.ez-two", {}, left, right));
    new Quiz(left, context, {
      name: "gate",
      gate: context.store.gate,
      choices: ["accepted", "rejected", "gated"],
      onQuestion: (entry) => {
        token = entry.token;
        draw();
      },
    });
  },
};

const WORDS = {
  target: (beta) =>
    `P = β·p + (1 − β)·r, with β = ${beta} and r the residual: a gated guess makes room for a draw from p, a rejected one for a draw from r. So p comes in only with weight β, and tokens that the target likes more than the draft does gain.`,
  exclude: (beta) =>
    `P(y) = Σ min(p, q)(x)·p(y) / (1 − p(x)) over all x other than y, plus (1 − β)·r(y), with β = ${beta} and r the residual: a gated guess x makes room for a draw from p without x. So a token that both models like, the likeliest guess, loses: it is never its own replacement.`,
};

function formula(token, state) {
  if (state === "closed") return h("p.ez-note-line", {}, "P = min(p, q) + max(p − q, 0) = p. With the gate closed this is SD, and what comes out is exactly the target’s.");
  return h(
    "p.ez-note-line",
    {},
    `${WORDS[state](fixed(token.beta, 2))} The distance between P and p, if the gate is open here: `,
    h("b", {}, fixed(state === "target" ? token.tv_target : token.tv_exclude, 3)),
    " (total variation; 0 would be lossless, 1 would have nothing in common).",
  );
}
