// Acceptance by draft index, with how many decided tokens each bar stands for, and what SD would be expected to accept there.

import { percent } from "../dom.js";
import { colour } from "../palette.js";
import { moveBars } from "./bars.js";
import { TraceChart } from "./chart.js";

const FEW = 8; // bars that have room for three lines each

/** The words under a bar, line by line. */
const lines = ({ accepted }, i, few) => (few ? [`${i + 1}`, percent(accepted.value), `n = ${accepted.denominator}`] : [`${i + 1}`, `${accepted.denominator}`]);

export class ByIndex extends TraceChart {
  static hears = ["trace", "steps", "gate"];
  #drawn = "";

  constructor(element, store, skeleton) {
    super(element, store, skeleton, { title: "Acceptance by draft index", aside: "— mean β", label: "Acceptance rate by draft index, with counts" });
  }

  data(layout) {
    const bars = this.store.metrics.by_index;
    this.#drawn = JSON.stringify(bars);
    const x = bars.map((_, i) => i + 1);
    layout.xaxis.range = [0.4, Math.max(bars.length, 1) + 0.6];
    layout.xaxis.tickvals = x;
    layout.xaxis.ticktext = bars.map((bar, i) => {
      const [index, ...rest] = lines(bar, i, bars.length <= FEW);
      return [`<b>${index}</b>`, ...rest].join("<br>");
    });
    return [
      {
        type: "bar",
        x,
        y: bars.map(({ accepted }) => accepted.value),
        marker: { color: colour("accepted"), opacity: 0.8 },
        customdata: bars.map(({ accepted }) => accepted.denominator),
        hovertemplate: "draft index %{x}<br>%{y:.1%} of %{customdata} decided<extra></extra>",
      },
      {
        type: "scatter",
        mode: "markers",
        x,
        y: bars.map(({ beta }) => beta.value),
        marker: { symbol: "line-ew", size: 22, line: { width: 2, color: colour("ink") } },
        hovertemplate: "mean β %{y:.1%}<extra></extra>",
      },
    ];
  }

  restyle() {
    const bars = this.store.metrics.by_index;
    const now = JSON.stringify(bars);
    if (this.#drawn === now) return true;
    this.#drawn = now;
    return moveBars(
      this.plot.plot,
      bars.map(({ accepted }) => accepted.value),
      bars.map(({ beta }) => beta.value),
      bars.map((bar, i) => lines(bar, i, bars.length <= FEW)),
    );
  }

  keyAt() {
    return null; // a bar is many tokens
  }
}
