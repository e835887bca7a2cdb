// plotly.js, fetched when the first chart is about to be seen: it is most of the page's bytes, and the text doesn't wait for it.

let found = null;

/** A promise for Plotly. Kept: gr.Plot, should a page use it, puts its own over the global. */
export function plotly() {
  found ??= window.Plotly ? Promise.resolve(window.Plotly) : fetched(window.easdPlotly);
  return found;
}

function fetched(url) {
  return new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => done(window.Plotly);
    script.onerror = () => fail(new Error("plotly.js can't be loaded"));
    document.head.append(script);
  });
}
