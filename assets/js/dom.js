// The one exit for markup: elements are made here, and text only ever goes in as text.

/** h("b.big", {title: "x"}, "text", child): an element with classes, attributes and children; null children are left out. */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  set(element, attributes);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(element, attributes);
  element.append(...children);
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
}

export const fixed = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits));

/** A probability: three decimals, or powers of ten where those would be 0. */
export function probability(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0 || value >= 0.0005) return value.toFixed(3);
  return value.toExponential(1).replace("e-", "e−");
}

export const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(value < 0.0995 && value > 0 ? 1 : 0)}%`);

/** Characters that would not be seen, or would move others, by a name that can be. */
const INVISIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

const codePoint = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Joiners and variation selectors are part of the emoji beside them, and shown only where a token is nothing else. */
const ONLY_JOINERS = /^[\u200d\ufe00-\ufe0f]+$/;

/** Invisible characters named; spaces, tabs and line ends left as they are. */
export function named(text) {
  return ONLY_JOINERS.test(text) ? [...text].map(codePoint).join("") : text.replace(INVISIBLE, codePoint);
}

/** A token as one line of visible characters: for lists, tooltips, headings. */
export function visibleText(token) {
  if (token.bytes) return `⟨${token.bytes.match(/../g).join(" ")}⟩`;
  if (token.text === "") return "∅";
  return named(token.text).replaceAll(" ", "␣").replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll("\r", "␍");
}

/** A token as a screen reader should say it. */
export function spokenText(token) {
  if (token.bytes) return `bytes ${token.bytes.match(/../g).join(" ")}`;
  if (token.text === "") return "an empty token";
  if (/^ +$/.test(token.text)) return token.text.length === 1 ? "a space" : `${token.text.length} spaces`;
  const words = named(token.text.trim() || token.text);
  return words.replaceAll("\n", " newline ").replaceAll("\t", " tab ").trim();
}
