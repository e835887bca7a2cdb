// Moving the lines, regions and labels of a drawn plot in place. Plotly draws all of a plot again where one of its shapes moves.

/** A place along one side of a plot, "paper" or an axis, in px. */
function pixel(gd, side, ref, value) {
  const { _size: size, xaxis, yaxis } = gd._fullLayout;
  if (ref === "paper") return side === "x" ? size.l + value * size.w : size.t + (1 - value) * size.h;
  const axis = side === "x" ? xaxis : yaxis;
  return axis._offset + axis.l2p(value);
}

const at = (gd, item, side, name) => pixel(gd, side, item[`${side}ref`] ?? side, item[name]);

function outline(gd, shape) {
  const [x0, y0, x1, y1] = ["x0", "y0", "x1", "y1"].map((name) => at(gd, shape, name[0], name));
  return shape.type === "rect" ? `M${x0},${y0}H${x1}V${y1}H${x0}Z` : `M${x0},${y0}L${x1},${y1}`;
}

const find = (gd, selector, kind) => [...gd.querySelectorAll(selector)].toSorted((a, b) => a.dataset.index - b.dataset.index).slice(0, kind.length);

/**
 * @param gd a drawn plot
 * @param after {shapes, annotations}: lines, rectangles and labels on the plot's first axes
 * @returns false where there are others than were drawn; then plotly has to draw them
 */
export function moveLines(gd, after) {
  const before = gd.layout;
  const same = ["shapes", "annotations"].every((kind) => before[kind].length === after[kind].length && before[kind].every((item, i) => item.type === after[kind][i].type));
  if (!same) return false;
  const shapes = find(gd, ".shapelayer path[data-index]", after.shapes);
  const labels = find(gd, "g.annotation", after.annotations);
  if (shapes.length !== after.shapes.length || labels.length !== after.annotations.length) return false;
  shapes.forEach((path, i) => path.setAttribute("d", outline(gd, after.shapes[i])));
  labels.forEach((label, i) => {
    const [was, is] = [before.annotations[i], after.annotations[i]];
    const [dx, dy] = ["x", "y"].map((side) => at(gd, is, side, side) - at(gd, was, side, side));
    label.setAttribute("transform", `translate(${dx},${dy})`);
    const text = label.querySelector("text");
    if (text && was.text !== is.text) text.textContent = is.text;
  });
  return true;
}
