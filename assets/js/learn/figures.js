// The drawings of the chapters: plain boxes with widths, in the page's colours, each number in words beside its bar.

import { h, fixed, probability, visibleText } from "../dom.js";
import { NEAR, emittedLaw, sides, split } from "../laws.js";

const word = (text, extra = "") => h(`code.ez-word${extra}`, {}, visibleText({ text }));
const bound = (value, atMost) => (atMost === null ? probability(value) : `< ${probability(atMost)}`);

/** A distribution's most likely tokens as bars, and all the rest in one. `mark`: a token id to point out; `counts`: draws per id. */
export function distribution(title, top, { size = 10, mark = null, counts = null, note = null } = {}) {
  const shown = top.slice(0, size);
  const rest = Math.max(0, 1 - shown.reduce((sum, [, , prob]) => sum + prob, 0));
  const most = Math.max(rest, shown[0]?.[2] ?? 1);
  const listed = shown.reduce((sum, [id]) => sum + (counts?.get(id) ?? 0), 0);
  const all = [...(counts?.values() ?? [])].reduce((a, b) => a + b, 0);
  const drawn = (id) => (id === null ? all - listed : (counts.get(id) ?? 0));
  const row = (label, prob, id) =>
    h(
      `li${id !== null && id === mark ? ".me" : ""}`,
      {},
      label,
      h("span.ez-bar", { "aria-hidden": "true" }, h("i", { "--w": `${(100 * prob) / most}%` })),
      h("span.ez-num", {}, probability(prob)),
      counts && h("span.ez-tally", {}, drawn(id) ? `${drawn(id)}×` : ""),
    );
  return h(
    `div.ez-dist${counts ? ".has-tally" : ""}`,
    {},
    h("h3", {}, title, note && h("span", {}, note)),
    h(
      "ol",
      {},
      shown.map(([id, text, prob]) => row(word(text), prob, id)),
      row(h("span.ez-rest", {}, "all others"), rest, null),
    ),
  );
}

/** All probability as one bar from 0 to 1, a token a piece; `u` is where a draw fell. */
export function pile(top, u = null) {
  let at = 0;
  const pieces = top.slice(0, 12).map(([, text, prob]) => {
    at += prob;
    return h("i", { "--w": `${100 * prob}%`, title: visibleText({ text }) }, prob > 0.07 ? visibleText({ text }) : "");
  });
  pieces.push(h("i.rest", { "--w": `${100 * Math.max(0, 1 - at)}%` }, 1 - at > 0.12 ? "others" : ""));
  const needle = u === null ? null : h("b.ez-needle", { "--at": `${100 * u}%` }, h("span", {}, `u = ${fixed(u, 2)}`));
  return h("div.ez-pile", { "aria-hidden": "true" }, pieces, needle);
}

const ROWS = 9;

/** p against q, token by token: kept as a draft, drawn from the residual, turned away. */
export function splitFigure(token) {
  const rows = sides(token).slice(0, ROWS);
  const most = Math.max(...rows.map(({ p, q }) => Math.max(p, q)));
  const bar = (row) => {
    const { kept, surplus, excess } = split(row);
    const width = (value) => ({ "--w": `${(100 * value) / most}%` });
    return h("span.ez-split", { "aria-hidden": "true" }, h("i.kept", width(kept)), h("i.surplus", width(surplus)), h("i.excess", width(excess)));
  };
  return h(
    "div.ez-laws",
    {},
    h("div.ez-laws-head", { "aria-hidden": "true" }, h("span"), h("span"), h("span", {}, "p"), h("span", {}, "q")),
    h(
      "ol",
      {},
      rows.map((row) =>
        h(
          `li${row.id === token.token_id ? ".me" : ""}`,
          {},
          word(row.text),
          bar(row),
          h("span.ez-num", {}, h("span.ez-sr", {}, "p "), bound(row.p, row.pAtMost)),
          h("span.ez-num", {}, h("span.ez-sr", {}, "q "), bound(row.q, row.qAtMost)),
        ),
      ),
    ),
    h(
      "p.ez-marks",
      {},
      h("span.kept", {}, "kept as a draft, min(p, q)"),
      h("span.surplus", {}, "drawn from the residual, p − q"),
      h("span.excess", {}, "guessed too often, q − p: turned away"),
    ),
  );
}

/** The law of the emitted token against the target's own. `rule`: how an open gate resamples here; null where the gate is closed. */
export function gateFigure(token, rule) {
  const rows = emittedLaw(token, rule ?? "target").slice(0, ROWS);
  const law = (row) => (rule ? row.emitted : row.p);
  const most = Math.max(...rows.map((row) => Math.max(row.p, law(row))));
  const width = (value) => ({ "--w": `${(100 * value) / most}%` });
  const isNear = (row) => rule !== null && row.isNear;
  const figure = (row) => (row.pAtMost === null ? `${isNear(row) ? "≈ " : ""}${probability(law(row))}` : bound(0, row.pAtMost));
  return h(
    "div.ez-laws.is-gate",
    {},
    h("div.ez-laws-head", { "aria-hidden": "true" }, h("span"), h("span"), h("span", {}, "p"), h("span", {}, "P")),
    h(
      "ol",
      {},
      rows.map((row) =>
        h(
          `li${row.id === token.token_id ? ".me" : ""}`,
          {},
          word(row.text),
          h("span.ez-twin", { "aria-hidden": "true" }, h("i.p", width(row.p)), h("i.law", width(law(row)))),
          h("span.ez-num", {}, h("span.ez-sr", {}, "p "), bound(row.p, row.pAtMost)),
          h("span.ez-num", {}, h("span.ez-sr", {}, "P "), figure(row)),
        ),
      ),
    ),
    h("p.ez-marks", {}, h("span.p", {}, "p, the target’s own"), h("span.law", {}, rule ? "P, what is emitted where the gate is open" : "P, what is emitted while the gate is closed")),
    rows.some((row) => isNear(row) && row.pAtMost === null) && h("p.ez-quiet", {}, NEAR),
  );
}

/** A labelled range input; `onMove(value)`. */
export function range(label, { min, max, step, value, show = (v) => fixed(v, 2), help = "" }, onMove) {
  const output = h("output", {}, show(value));
  const input = h("input", { type: "range", min, max, step, value, "aria-label": label, "aria-valuetext": show(value) });
  const paint = () => input.style.setProperty("--range_progress", `${(100 * (input.value - min)) / (max - min)}%`);
  const set = (v) => {
    input.value = v;
    output.textContent = show(Number(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
    paint();
  };
  input.addEventListener("input", () => {
    set(input.value);
    onMove(Number(input.value));
  });
  set(value);
  return { element: h("div.ez-range", {}, h("span", { "aria-hidden": "true" }, label), output, input, help && h("small", {}, help)), set };
}

/** Earlier and later, around what they move through. */
export function walker(label, onMove) {
  const back = h("button.ez-step-button", { type: "button", "aria-label": `Earlier ${label}`, onclick: () => onMove(-1) }, "‹");
  const on = h("button.ez-step-button", { type: "button", "aria-label": `Later ${label}`, onclick: () => onMove(1) }, "›");
  const where = h("span.ez-at", { role: "status" });
  return { element: h("div.ez-walker", {}, back, where, on), back, on, where };
}

export const quoted = word;
