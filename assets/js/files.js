// Handing the visitor a file: nothing is written to the server's disk.

import { h } from "./dom.js";

/** Save what a URL (data: or blob:) stands for under a name. */
export function saveUrl(url, name) {
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

export function saveText(text, name, mime) {
  const url = URL.createObjectURL(new Blob([text], { type: mime }));
  saveUrl(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
