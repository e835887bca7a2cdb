// What the colours mean. For a quantity: its scale, with the threshold's place on it.

import { h, fixed } from "./dom.js";
import { QUANTITIES } from "./store.js";

const chip = (name, text, after = "") => h("span.ez-chip", {}, h(`span.tok.${name}`, {}, h("span.ink", {}, text)), after && ` ${after}`);

function outcomes(mode, show) {
  if (mode === "target") return [chip("target", "drawn from the target")];
  if (mode === "draft") return [chip("accepted", "drawn from the draft")];
  const chips = [chip("accepted", "accepted"), chip("rejected.off", "rejected", "by SD")];
  if (mode === "easd") chips.push(chip("gated.off", "gated", "by EASD"));
  if (show.discarded) chips.push(chip("discarded.off", "discarded"));
  chips.push(chip("residual", "from the residual"));
  if (mode === "easd") chips.push(chip("target", "resampled from the target"));
  return [...chips, chip("bonus", "bonus")];
}

function scaleOf(store) {
  const quantity = QUANTITIES[store.colour];
  const [low, high] = store.range(store.colour);
  const threshold = quantity.threshold && store.gate ? store.gate[quantity.threshold] : null;
  const digits = quantity.fixed ? 1 : 0;
  const shown = threshold !== null && threshold <= high;
  return [
    h("span.ez-scale-name", {}, quantity.symbol, quantity.unit ? h("small", {}, ` ${quantity.unit}`) : null),
    h("span.ez-scale-end", {}, fixed(low, digits)),
    h(
      "span.ez-scale",
      {},
      shown ? h("span.ez-scale-mark", { "--at": `${(100 * (threshold - low)) / (high - low)}%` }, h("b", {}, `${quantity.knob} ${fixed(threshold, 2)}`)) : null,
    ),
    h("span.ez-scale-end", {}, fixed(high, digits)),
    threshold === null || shown ? null : h("span.ez-scale-end", {}, `${quantity.knob} ${threshold === Infinity ? "is closed" : `${fixed(threshold, 2)}, off the scale`}`),
  ];
}

/** Fill `element` with the legend of the store's colours. */
export function legend(element, store) {
  const mode = store.trace?.head.config.mode ?? "easd";
  const key = JSON.stringify([mode, store.colour, store.show, store.gate, store.colour === "outcome" ? 0 : store.range(store.colour)]);
  if (element.shown === key) return;
  element.shown = key;
  element.replaceChildren(...(store.colour === "outcome" ? outcomes(mode, store.show) : scaleOf(store)).filter(Boolean));
}
