// A chart as a file: two small buttons beside its heading, PNG and SVG, made in the browser from the figure as it is shown.

import { h } from "./dom.js";
import { saveUrl } from "./files.js";
import { colour } from "./palette.js";
import { plotly } from "./plotly.js";

/** @param plot a plot.js Plot; `title` names the file. */
export function imageButtons(plot, title) {
  const save = async (format) => {
    await plot.settle();
    const { data, layout, clientWidth: width, clientHeight: height } = plot.plot;
    const paper = colour("bg"); // see-through on the page, but a file has no page behind it
    const figure = { data, layout: { ...layout, paper_bgcolor: paper, plot_bgcolor: paper } };
    saveUrl(await (await plotly()).toImage(figure, { format, width, height, scale: format === "png" ? 2 : 1 }), `${slug(title)}.${format}`);
  };
  const button = (format) => h("button.ez-link", { type: "button", "aria-label": `Save ${title} as ${format.toUpperCase()}`, onclick: () => save(format) }, format.toUpperCase());
  return h("span.ez-images", {}, button("png"), button("svg"));
}

const slug = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
