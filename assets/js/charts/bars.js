// Moving the bars of a drawn plot, the marks over them and the words under them in place. Plotly draws the whole plot for one of them.

/**
 * @param gd a drawn plot with one trace of bars from 0 up, one scatter trace of marks at the same places, and a tick label at each
 * @param heights, marks numbers on the y axis, one a bar
 * @param lines the words under each bar: an array of plain lines, as many as were drawn
 * @returns false where the drawing is another; then plotly has to draw it
 */
export function moveBars(gd, heights, marks, lines) {
  const { yaxis } = gd._fullLayout;
  const bars = gd.querySelectorAll(".barlayer .point path");
  const points = gd.querySelectorAll(".scatterlayer path.point");
  const labels = [...gd.querySelectorAll(".xaxislayer-above .xtick text")].map((text) => text.querySelectorAll("tspan.line"));
  const all = [...heights, ...marks];
  if ([bars, points, labels, marks, lines].some((each) => each.length !== heights.length) || all.some((value) => value === null)) return false;
  if (labels.some((label, i) => label.length !== lines[i].length)) return false;
  const corners = [...bars].map((path) => /^M([\d.]+),([\d.]+)V[\d.]+H([\d.]+)V/.exec(path.getAttribute("d")));
  const places = [...points].map((point) => /^translate\(([\d.]+),/.exec(point.getAttribute("transform")));
  if ([...corners, ...places].some((each) => each === null)) return false;
  corners.forEach(([, left, foot, right], i) => bars[i].setAttribute("d", `M${left},${foot}V${yaxis.l2p(heights[i])}H${right}V${foot}Z`));
  places.forEach(([, x], i) => points[i].setAttribute("transform", `translate(${x},${yaxis.l2p(marks[i])})`));
  lines.forEach((words, i) => words.forEach((word, line) => {
    const place = labels[i][line].querySelector("tspan") ?? labels[i][line]; // bold ones are in a span of their own
    if (place.textContent !== word) place.textContent = word;
  }));
  return true;
}
