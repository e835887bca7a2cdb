// Acceptance by draft index, with how many decided tokens each bar stands for, and what SD would be expected to accept there.

import { percent } from "../dom.js";
import { colour } from "../palette.js";
import { TraceChart } from "./chart.js";

export class ByIndex extends TraceChart {
  static hears = ["trace", "steps", "gate"];
  #drawn = "";

  constructor(element, store, skeleton) {
    super(element, store, skeleton, { title: "Acceptance by draft index", aside: "dash: mean β", label: "Acceptance rate by draft index, with counts" });
  }

  data(layout) {
    const bars = this.store.metrics.by_index;
    this.#drawn = JSON.stringify(bars);
    const x = bars.map((_, i) => i + 1);
    layout.xaxis.range = [0.4, Math.max(bars.length, 1) + 0.6];
    const few = bars.length <= 8;
    layout.xaxis.tickvals = x;
    layout.xaxis.ticktext = bars.map(({ accepted }, i) => (few ? `<b>${i + 1}</b><br>${percent(accepted.value)}<br>n = ${accepted.denominator}` : `<b>${i + 1}</b><br>${accepted.denominator}`));
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
    return this.#drawn === JSON.stringify(this.store.metrics.by_index);
  }

  keyAt() {
    return null; // a bar is many tokens
  }
}
