// Small parts of the page that are no view of a trace: the status line, and the file saver.

import { h } from "./dom.js";
import { saveText } from "./files.js";

/** Where a run stands. Phases are announced to screen readers, the running numbers are not: they change several times a second. */
export class Status {
  constructor(element, props, watch) {
    this.phase = h("span.ez-phase", { role: "status", "aria-live": "polite" });
    this.numbers = h("span.ez-numbers");
    this.bar = h("i");
    this.track = h("div.ez-progress", { "aria-hidden": "true" }, this.bar);
    this.box = h("div.ez-status", {}, this.phase, this.numbers, this.track);
    element.append(this.box);
    const draw = () => this.draw(props.value);
    watch("value", draw);
    draw();
  }

  draw(value) {
    const { kind = "idle", text = "", numbers = "", progress = null } = value ?? {};
    this.box.dataset.kind = kind;
    if (this.phase.textContent !== text) this.phase.textContent = text;
    this.phase.setAttribute("role", kind === "error" ? "alert" : "status");
    this.numbers.textContent = numbers;
    this.track.classList.toggle("is-on", progress !== null || kind === "busy");
    this.track.classList.toggle("is-open", progress === null && kind === "busy");
    this.bar.style.width = `${100 * (progress ?? 0)}%`;
  }
}

/** Saves what Python sends, {name, mime, text, nonce}, as a file: nothing is written to the server's disk. */
export function saver(props, watch) {
  watch("value", () => {
    if (!props.value) return;
    const { name, mime, text } = props.value;
    saveText(text, name, mime);
  });
}

/** The models of a store's trace, for the page's header. */
export function pairLabel(element, store) {
  const label = h("span.ez-pair");
  element.append(label);
  store.subscribe((what) => {
    if (!what.has("trace")) return;
    const { draft_model: draft, target_model: target } = store.trace?.head ?? {};
    const either = target ?? draft;
    const names = [target?.id, draft?.id].filter(Boolean).map((id) => id.replace(/^.*\//, ""));
    label.textContent = either ? `${names.join(" ← ")} · ${either.device} · ${either.dtype}` : "";
    label.title = either ? "target ← draft · device · precision of the run that is shown" : "";
  });
}

/** What the page says where the gate has no effect on the text: mode, temperature and resampling rule as the controls have them. */
export function greedyNote(mode, temperature, resample) {
  if (mode !== "easd" || temperature !== 0 || resample !== "target") return "";
  return (
    "At temperature 0 a gated token is replaced by the target’s first choice: the very token that SD accepted. " +
    "So the gate can’t change the text, it only costs rounds. Resample without the draft’s token to see a difference."
  );
}
