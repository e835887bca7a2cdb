// Chapter 4: uncertainty. Entropy at real positions: a sure one, an unsure one, and any other.

import { h, fixed, visibleText } from "../../dom.js";
import { scaled } from "../../palette.js";
import { distribution } from "../figures.js";
import { sidesOfDie } from "../laws.js";
import { decided, textBefore } from "../text_before.js";

const SIDES = { target: ["target_entropy", "target_top"], draft: ["draft_entropy", "draft_top"] };

export const uncertainty = {
  title: "Sure and unsure",
  why: [
    "Some tokens have to come: the end of a name, the second half of a word. Others could be anything. Entropy puts a number to it: H = −Σ p ln p, in nats. It is 0 when one token has all the probability, and ln n when n tokens have equal shares.",
    "Read e^H as the sides of a die: the model is as unsure as if it threw one with that many sides.",
  ],
  make(body, { store }) {
    const entries = decided(store);
    let side = "target";
    let picked = null;
    const strip = h("div.ez-strip", { role: "listbox", "aria-label": "Positions of the text, coloured by entropy" });
    const cards = h("div.ez-three");
    const which = h(
      "div.ez-beats",
      { role: "group", "aria-label": "Whose entropy" },
      Object.keys(SIDES).map((name) => h("button", { type: "button", onclick: () => { side = name; draw(); } }, name)),
    );
    const entropy = (entry) => entry.token[SIDES[side][0]];
    const draw = () => {
      [...which.children].forEach((button) => button.setAttribute("aria-pressed", button.textContent === side));
      const order = [...entries].sort((a, b) => entropy(a) - entropy(b));
      const [surest, least] = [order[0], order[order.length - 1]];
      picked ??= order[Math.floor(order.length / 2)];
      drawStrip(strip, entries, entropy, entropy(least), picked, (entry) => { picked = entry; draw(); });
      cards.replaceChildren(card("The surest", surest, store, side), card("The least sure", least, store, side), card("Your pick", picked, store, side));
    };
    body.append(h("div.ez-lesson-row", {}, h("p.ez-says", {}, "Drafted tokens in order; yellow is unsure. Pick one."), which), strip, cards);
    draw();
  },
};

function drawStrip(strip, entries, entropy, most, picked, pick) {
  const had = strip.contains(document.activeElement);
  const options = entries.map((entry) => {
    const { background, ink } = scaled(entropy(entry) / Math.max(1, most));
    return h(
      "span.tok.by-number",
      { role: "option", tabindex: entry === picked ? 0 : -1, "aria-selected": entry === picked ? "true" : "false", "aria-label": `${visibleText(entry.token)}, ${fixed(entropy(entry), 2)} nats`, "--c": background, "--on-c": ink, onclick: () => pick(entry) },
      h("span.ink", {}, visibleText(entry.token)),
    );
  });
  strip.replaceChildren(...options);
  strip.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = step && entries[entries.indexOf(picked) + step];
    if (!next) return;
    event.preventDefault();
    pick(next);
  };
  const chosen = options[entries.indexOf(picked)];
  if (had) chosen.focus({ preventScroll: true });
  strip.scrollTop = Math.max(0, chosen.offsetTop - strip.clientHeight / 2);
}

function card(title, entry, store, side) {
  const [number, list] = SIDES[side];
  const entropy = entry.token[number];
  const sides = sidesOfDie(entropy);
  return h(
    "div.ez-card.ez-position",
    {},
    h("h3", {}, title),
    h("p.ez-reading", {}, textBefore(store, entry, 64), h("span.ez-gap", {}, "?")),
    h("p.ez-big", {}, h("b", {}, fixed(entropy, 2)), h("small", {}, " nats"), h("span", {}, `a die with ${sides < 10 ? fixed(sides, 1) : sides.toFixed(0)} sides`)),
    distribution(`The ${side}’s distribution`, entry.token[list], { size: 6, mark: null }),
  );
}
