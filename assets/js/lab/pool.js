// All traces that count in the threshold lab, as columns, judged anew on every move of a knob. No DOM here: node tests it.
// Each drafted token is judged alone, so rates are estimates on the recorded path; how far one text is exact, replay.js says.

import { canResample } from "../decide.js";

const OUTCOME = { a: "accepted", r: "rejected", g: "gated" };
const NO_TOKENS = { n: 0, bySd: 0, gated: 0, recorded: 0, changed: 0 };
export const CONTEXT = 40; // characters before a token, as replay.CONTEXT_CHARACTERS

export class Pool {
  #parsed = new Map(); // JSON -> trace, so that an old one is read once

  constructor() {
    this.traces = [];
    this.version = 0; // counts sets of traces
    this.gate = null;
    this.listeners = new Set();
    this.sums = { ...NO_TOKENS };
  }

  /** A list of JSON records as views/lab.py makes them. */
  setValue(records) {
    const before = this.#parsed;
    this.#parsed = new Map(records.map((json) => [json, before.get(json) ?? read(json)]));
    this.traces = [...this.#parsed.values()];
    this.version += 1;
    this.judge();
  }

  setGate(gate) {
    this.gate = gate;
    this.judge();
  }

  judge() {
    const sums = { ...NO_TOKENS };
    for (const trace of this.traces) judgeAll(trace, this.gate ?? trace.gate, sums);
    this.sums = sums;
    for (const listen of this.listeners) listen(this);
  }

  /** The first `limit` tokens whose verdict is another one than recorded. */
  changes(limit) {
    const out = [];
    for (const trace of this.traces) {
      for (let i = 0; i < trace.n && out.length < limit; i++) {
        if (trace.now[i] !== trace.outcome[i]) out.push(change(trace, i, this.gate));
      }
    }
    return out;
  }

  /** Share of all tokens in each quadrant of the gate plane. */
  quadrants() {
    const count = { neither: 0, draft: 0, target: 0, both: 0 };
    if (!this.gate) return count;
    for (const trace of this.traces) {
      for (let i = 0; i < trace.n; i++) {
        const draft = trace.draft_entropy[i] >= this.gate.draft_threshold;
        const target = trace.target_entropy[i] >= this.gate.target_threshold;
        count[draft ? (target ? "both" : "draft") : target ? "target" : "neither"] += 1;
      }
    }
    for (const name of Object.keys(count)) count[name] /= Math.max(1, this.sums.n);
    return count;
  }

  subscribe(listen) {
    this.listeners.add(listen);
    listen(this);
  }
}

function read(json) {
  const trace = JSON.parse(json);
  trace.n = trace.outcome.length;
  trace.forced = new Set(trace.forced);
  for (const name of ["draft_threshold", "target_threshold"]) if (trace.gate[name] === "inf") trace.gate[name] = Infinity;
  trace.now = "";
  return trace;
}

/** overlap_k of token i: its letter at k, over k or the length of a shorter list. */
export function overlapAt(trace, i, k) {
  return (trace.shared.charCodeAt(20 * i + k - 1) - 97) / Math.min(k, trace.size[i]);
}

function conditions(trace, i, gate) {
  return [
    trace.draft_entropy[i] >= gate.draft_threshold,
    trace.target_entropy[i] >= gate.target_threshold,
    overlapAt(trace, i, gate.k) >= gate.overlap_threshold,
    canResample(trace.certain[i] === "1" ? 1 : 0, { ...gate, greedy: trace.gate.greedy }),
  ];
}

function judgeAll(trace, gate, sums) {
  const { n, by_sd, outcome, forced, position, certain, draft_entropy, target_entropy, size, shared } = trace;
  const { draft_threshold, target_threshold, overlap_threshold, k } = gate;
  const exclusive = !canResample(1, { ...gate, greedy: trace.gate.greedy });
  const now = new Array(n);
  for (let i = 0; i < n; i++) {
    let verdict = "r";
    if (by_sd[i] === "1") {
      const fires =
        draft_entropy[i] >= draft_threshold &&
        target_entropy[i] >= target_threshold &&
        (shared.charCodeAt(20 * i + k - 1) - 97) / Math.min(k, size[i]) >= overlap_threshold &&
        !(exclusive && certain[i] === "1");
      verdict = fires ? "g" : "a";
      sums.bySd += 1;
    }
    if (forced.size && forced.has(position[i])) verdict = outcome[i];
    now[i] = verdict;
    sums.gated += verdict === "g" ? 1 : 0;
    sums.recorded += outcome[i] === "g" ? 1 : 0;
    sums.changed += verdict === outcome[i] ? 0 : 1;
  }
  sums.n += n;
  trace.now = now.join("");
}

const CONDITIONS = ["H draft", "H target", "overlap", "nothing else to draw"];

function change(trace, i, gate) {
  const before = conditions(trace, i, trace.gate);
  const after = conditions(trace, i, gate);
  return {
    key: trace.key,
    name: trace.name,
    round: trace.round[i],
    draftIndex: trace.draft_index[i],
    position: trace.position[i],
    token: { text: trace.text[i], bytes: trace.bytes[i] },
    context: trace.path.slice(Math.max(0, trace.at[i] - CONTEXT), trace.at[i]),
    was: OUTCOME[trace.outcome[i]],
    now: OUTCOME[trace.now[i]],
    flippedBy: CONDITIONS.filter((_, c) => before[c] !== after[c]),
  };
}
