// Colours by theme and by number, from the table that Python put on the page (views/theme.py).

const { light, dark, scale, glyphs } = window.easdPalette;

export const GLYPHS = glyphs;

export const isDark = () => document.body.classList.contains("dark") || document.documentElement.classList.contains("dark");

export const colour = (name) => (isDark() ? dark : light)[name];

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** For layouts, which are made in light colours and turned as a whole by `themed`. */
export const lightColour = (name) => light[name];
export const lightTint = (name, alpha) => `rgba(${rgb(light[name]).join(",")},${alpha})`;

const STOPS = scale.map(rgb);

/** t in [0, 1] -> [r, g, b] on the scale for quantities. */
function onScale(t) {
  const at = Math.min(Math.max(t, 0), 1) * (STOPS.length - 1);
  const i = Math.min(Math.floor(at), STOPS.length - 2);
  return STOPS[i].map((low, c) => Math.round(low + (STOPS[i + 1][c] - low) * (at - i)));
}

/** t in [0, 1] -> {background, ink}: the scale's colour and whichever of black and white reads better on it. */
export function scaled(t) {
  const [r, g, b] = onScale(t);
  const linear = [r, g, b].map((c) => (c <= 10 ? c / 3294 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return { background: `rgb(${r},${g},${b})`, ink: luminance > 0.179 ? "#000000" : "#ffffff" };
}

/** Plotly's form of the scale. */
export const COLORSCALE = scale.map((hex, i) => [i / (scale.length - 1), hex]);

/** In the present theme's colours, see-through. */
export const tint = (name, alpha) => `rgba(${rgb(colour(name)).join(",")},${alpha})`;

/** A colour as it looks over the present theme’s ground at this opacity. */
export function faint(hex, opacity) {
  const ground = rgb(colour("bg"));
  return `rgb(${rgb(hex).map((c, i) => Math.round(ground[i] + (c - ground[i]) * opacity))})`;
}

const watchers = new Set();

/** Call `draw` whenever the theme changes. */
export function onTheme(draw) {
  watchers.add(draw);
}

let wasDark = isDark();
const observer = new MutationObserver(() => {
  if (isDark() === wasDark) return;
  wasDark = isDark();
  for (const draw of watchers) draw();
});
for (const element of [document.documentElement, document.body]) observer.observe(element, { attributes: true, attributeFilter: ["class"] });

const partner = new Map();
for (const name of Object.keys(light)) {
  partner.set(light[name].toLowerCase(), dark[name]);
  partner.set(rgb(light[name]).join(","), rgb(dark[name]).join(","));
}

/** A figure made in light colours -> the same in the current theme's. Leaves data arrays alone. */
export function themed(figure) {
  if (!isDark()) return structuredClone(figure);
  const turn = (value) => {
    if (typeof value === "string") {
      const exact = partner.get(value.toLowerCase());
      return exact ?? value.replace(/^rgba\((\d+,\s*\d+,\s*\d+)/, (whole, channels) => `rgba(${partner.get(channels.replaceAll(" ", "")) ?? channels}`);
    }
    if (Array.isArray(value)) return value.map(turn);
    if (value && typeof value === "object" && !ArrayBuffer.isView(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, turn(inner)]));
    }
    return value;
  };
  return turn(figure);
}
