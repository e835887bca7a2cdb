// Puts the views into the slots that Python's components left for them (easd_viz/ui/components.py).
// A slot asks by name through `easd.mount`; what was asked for before this module had loaded waits: slots in a queue, handlers for `easd.ready`.

import { Along } from "./charts/along.js";
import { ByIndex } from "./charts/by_index.js";
import { Plane } from "./charts/plane.js";
import { Ranks } from "./charts/ranks.js";
import { Rounds } from "./charts/rounds.js";
import { Cards } from "./cards.js";
import { Comparison } from "./compare/comparison.js";
import { Luck } from "./compare/luck.js";
import { Status, greedyNote, pairLabel, saver } from "./controls.js";
import { Details } from "./details.js";
import { LAB_VIEWS } from "./lab/index.js";
import { hideFirst, showFirst } from "./first.js";
import { Hint } from "./learn/hint.js";
import { Learn } from "./learn/shell.js";
import { Figure } from "./plot.js";
import { Sharer } from "./share.js";
import { storeOf } from "./store.js";
import { TokenText } from "./text.js";

const CHARTS = { plane: Plane, rounds: Rounds, along: Along, ranks: Ranks, by_index: ByIndex };

const VIEWS = {
  tokens(element, { props, watch, select, rerun }) {
    const store = storeOf(props.store);
    const onSelect = (entry) => select({ index: [entry.round, entry.drafted ? entry.token.draft_index : 0], value: entry.token.position });
    new TokenText(element, store, { label: props.heading, controls: props.controls, onSelect, onRerun: props.can_rerun ? rerun : null });
    const update = () => store.setValue(props.value);
    watch("value", update);
    update();
  },
  details: (element, { props }) => new Details(element, storeOf(props.store)),
  cards: (element, { props }) => new Cards(element, storeOf(props.store)),
  chart: (element, { props }) => new CHARTS[props.name](element, storeOf(props.store), props.value),
  plot(element, { props, watch, select }) {
    const figure = new Figure(element, props.heading, props.value, (point) => select({ index: [point.curveNumber, point.pointNumber], value: point.customdata ?? null }));
    watch("value", () => figure.set(props.value));
  },
  status: (element, { props, watch }) => new Status(element, props, watch),
  saver: (element, { props, watch }) => saver(props, watch),
  sharer: (element, { props, watch }) => new Sharer(element, storeOf(props.store), props, watch),
  comparison: (element, { props, watch }) => new Comparison(element, props, watch),
  luck: (element, { props, watch }) => new Luck(element, props, watch),
  hint: (element, { props }) => new Hint(element, storeOf(props.store), props.examples),
  learn: (element, context) => new Learn(element, context),
  pair: (element, { props }) => pairLabel(element, storeOf(props.store)),
  ...LAB_VIEWS,
};

/** The gate's knobs as a tab's controls have them, in the order of components.KNOB_ORDER. A mode that has no gate is left alone. */
function knobs(store, [mode, draft_threshold, target_threshold, overlap_threshold, k, resample]) {
  const values = { draft_threshold, target_threshold, overlap_threshold, k, resample };
  if (mode === "easd" || mode === "sd") values.mode = mode;
  storeOf(store).setGate(values);
}

function mount(name, element, context) {
  try {
    VIEWS[name](element, context);
    element.dataset.ready = name;
    if (name === "tokens" && context.props.store === "run") hideFirst();
  } catch (error) {
    console.error(`easd: the view "${name}" could not be made`, error);
  }
}

showFirst();
const waiting = window.easd.queue;
window.easd.mount = mount;
window.easd.knobs = knobs;
window.easd.greedyNote = greedyNote;
window.easd.store = storeOf;
for (const each of waiting) mount(...each);
window.easdReady();
