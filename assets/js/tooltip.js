// One tooltip for the whole page, at whatever is hovered or focused. What it says is also in that element's accessible name or
// its details, so it is hidden from screen readers.

import { h } from "./dom.js";

const box = h("div.ez-tip", { "aria-hidden": "true", hidden: true });
let anchor = null;

export const tooltip = {
  /** content: {title, rows: [[name, value]], text, foot}, each optional. */
  show(element, { title = null, rows = [], text = null, foot = null }) {
    if (!box.isConnected) document.body.append(box);
    anchor = element;
    box.replaceChildren(
      ...[
        title && h("div.ez-tip-title", {}, title),
        text && h("div.ez-tip-text", {}, text),
        rows.length ? h("dl", {}, rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])) : null,
        foot && h("div.ez-tip-foot", {}, foot),
      ].filter(Boolean),
    );
    box.hidden = false;
    place(element);
  },

  /** True where there was one to hide. */
  hide() {
    const was = anchor !== null;
    anchor = null;
    box.hidden = true;
    return was;
  },
};

function place(element) {
  // An inline token that wraps has several boxes; the first one is where reading starts.
  const at = element.getClientRects()[0] ?? element.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = box;
  const left = Math.min(Math.max(8, at.left + at.width / 2 - width / 2), window.innerWidth - width - 8);
  const above = at.top - height - 8;
  box.style.left = `${left}px`;
  box.style.top = `${above >= 8 ? above : at.bottom + 8}px`;
}

/** What the mouse showed goes when its place moves away; what the keyboard showed goes along: walking is what scrolled. */
function follow() {
  if (anchor?.matches(":focus-visible")) place(anchor);
  else tooltip.hide();
}

document.addEventListener("scroll", follow, { passive: true, capture: true });
