// Restyling the points of a drawn scatter trace in place. Plotly draws all of a plot's points again for any change to one of them,
// a tenth of a second for a thousand; a knob changes the look of a few, and where they lie never.

const circle = (r) => `M${r},0A${r},${r} 0 1,1 0,${-r}A${r},${r} 0 0,1 ${r},0Z`;

const diamond = (r) => {
  const d = r * 1.3;
  return `M${d},0L0,${d}L${-d},0L0,${-d}Z`;
};

const cross = (r) => {
  const d = (r * 0.8) / Math.SQRT2;
  const [ne, se, sw, nw] = [`l${d},${d}`, `l${d},${-d}`, `l${-d},${-d}`, `l${-d},${d}`];
  return `M0,${d}${ne}${se}${sw}${se}${sw}${nw}${sw}${nw}${ne}${nw}${ne}Z`;
};

const PATHS = { circle, diamond, x: cross }; // as plotly draws the symbols of these names

/**
 * @param gd a drawn plot
 * @param index which of its scatter traces
 * @param before, after {symbol, size, color}, an array each; opacity is part of the colour
 * @returns false where the drawing is not what `before` says; then plotly has to draw it
 */
export function restylePoints(gd, index, before, after) {
  const points = gd.querySelectorAll(".scatterlayer .trace")[index]?.querySelectorAll("path.point");
  if (points?.length !== after.color.length || before.color.length !== after.color.length) return false;
  if (after.symbol.some((symbol) => !(symbol in PATHS))) return false;
  after.color.forEach((color, i) => {
    if (before.symbol[i] !== after.symbol[i] || before.size[i] !== after.size[i]) points[i].setAttribute("d", PATHS[after.symbol[i]](after.size[i] / 2));
    if (before.color[i] !== color) {
      points[i].style.fill = color;
      points[i].style.fillOpacity = 1; // it is in the colour: an opacity of its own makes every point a layer to paint
    }
  });
  return true;
}
