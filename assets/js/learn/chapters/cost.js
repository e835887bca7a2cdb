// Chapter 7: what it costs. Acceptance, γ and c in the formula for the speed-up, with sliders.

import { h, fixed } from "../../dom.js";
import { expectedSpeedUp } from "../../metrics.js";
import { range } from "../figures.js";

const MOST = 16;

export const cost = {
  title: "What it costs",
  why: [
    "Each round pays for γ draft passes and one target pass, whatever becomes of the guesses. It pays off when guesses are often kept and cheap to make. With α the chance that a guess is kept and c the time of a draft pass over that of a target pass, a round gives (1 − α^(γ+1)) / (1 − α) tokens on average and costs γc + 1 target passes.",
    "The gate takes from this: it ends rounds that would have gone on. With a share g of the accepted tokens gated, α becomes α(1 − g).",
  ],
  make(body, { store }) {
    const recorded = recordedNumbers(store);
    const now = { ...recorded };
    const result = h("p.ez-big", { role: "status" });
    const worked = h("p.ez-note-line");
    const bars = h("div.ez-gammas");
    const slider = (name, label, options) => range(label, { ...options, value: now[name] }, (value) => { now[name] = value; draw(); });
    const sliders = {
      alpha: slider("alpha", "α, chance that SD keeps a guess", { min: 0, max: 0.99, step: 0.01 }),
      gamma: slider("gamma", "γ, guesses per round", { min: 1, max: MOST, step: 1, show: (v) => v.toFixed(0) }),
      c: slider("c", "c, draft pass / target pass", { min: 0, max: 1, step: 0.01 }),
      gated: slider("gated", "g, share of accepted tokens gated", { min: 0, max: 1, step: 0.01 }),
    };
    const reset = h("button.ez-quiet-button", { type: "button", onclick: () => { Object.assign(now, recorded); for (const name of Object.keys(sliders)) sliders[name].set(now[name]); draw(); } }, "As recorded");
    const draw = () => {
      const alpha = now.alpha * (1 - now.gated);
      const at = (gamma) => expectedSpeedUp(alpha, gamma, now.c);
      const all = Array.from({ length: MOST }, (_, i) => at(i + 1));
      const best = all.indexOf(Math.max(...all)) + 1;
      const tokens = at(now.gamma) * (now.gamma * now.c + 1);
      result.replaceChildren(h("b", {}, `${fixed(at(now.gamma), 2)}×`), h("span", {}, at(now.gamma) >= 1 ? "as fast as the target alone" : "as fast as the target alone: slower"));
      worked.textContent = `${fixed(tokens, 2)} tokens a round / (${now.gamma} · ${fixed(now.c, 2)} + 1) target passes = ${fixed(at(now.gamma), 2)}. At this α and c the best γ is ${best}.`;
      bars.replaceChildren(...gammaBars(all, now.gamma, best));
    };
    body.append(h("div.ez-two", {}, h("div.ez-sliders", {}, Object.values(sliders).map((each) => each.element), h("div", {}, reset)), h("div.ez-picture", {}, h("h3", {}, "Speed-up for each γ"), bars, result, worked)));
    draw();
  },
};

/** The sliders' places that this example has. */
function recordedNumbers(store) {
  const { metrics, trace } = store;
  return {
    alpha: Math.min(0.99, metrics.expected_acceptance.value ?? 0.5),
    gamma: trace.head.config.gamma,
    c: Math.min(1, metrics.cost ?? 0.2),
    gated: metrics.gate_rate.value ?? 0,
  };
}

function gammaBars(all, gamma, best) {
  const most = Math.max(1.2, ...all);
  return [
    h("b.ez-one", { "--one": 1 / most }, h("span", {}, "1×")),
    ...all.map((value, i) =>
      h(
        `div${i + 1 === gamma ? ".is-now" : ""}${i + 1 === best ? ".is-best" : ""}`,
        { role: "img", "aria-label": `γ ${i + 1}: ${fixed(value, 2)} times${i + 1 === best ? ", the best" : ""}` },
        h("i", { "--h": `${(100 * value) / most}%` }),
        h("span", {}, i + 1),
      ),
    ),
  ];
}
