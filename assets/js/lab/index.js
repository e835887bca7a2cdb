// The threshold lab's views, by the names that easd_viz/ui/lab_parts.py asks for.

import { storeOf } from "../store.js";
import { Changes, Counts } from "./counts.js";
import { Law } from "./law.js";
import { LabPlane } from "./plane.js";
import { poolOf } from "./registry.js";
import { Table } from "./table.js";
import { Traces } from "./traces.js";

export const LAB_VIEWS = {
  pool(element, { props, watch }) {
    const pool = poolOf(props.store);
    const update = () => pool.setValue(props.value ?? []);
    watch("value", update);
    update();
  },
  lab_counts: (element, { props }) => new Counts(element, poolOf(props.store)),
  lab_changes: (element, { props, select }) => new Changes(element, poolOf(props.store), storeOf(props.store), (key) => select({ index: 0, value: ["show", key] })),
  lab_traces: (element, { props, watch, select }) => new Traces(element, props, watch, (act, key) => select({ index: 0, value: [act, key] })),
  lab_plane: (element, { props }) => new LabPlane(element, poolOf(props.store), props.value),
  lab_law: (element, { props }) => new Law(element, storeOf(props.store)),
  table: (element, { props, watch }) => new Table(element, props, watch),
};

window.easd.pool = poolOf; // beside easd.store, for whoever looks from the console, tests included

/** The selected token of a store for Python: [round, draft index (0: emitted), position] as JSON, or nothing. */
window.easd.selection = (name) => {
  const store = storeOf(name);
  const entry = store.find(store.selected);
  return entry ? JSON.stringify([entry.round, entry.drafted ? entry.token.draft_index : 0, entry.token.position]) : "";
};
