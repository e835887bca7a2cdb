// One store per trace on the page: the parsed trace, the knobs, the selection, how it is coloured. Data flows one way: Python or
// a control changes the store, the store tells every view in the next frame, the views draw. No DOM here but that frame.

import { gateOf, judge, overlapOf } from "./decide.js";
import { PathText, offPathText } from "./bytes.js";
import { rejudge } from "./replay.js";
import { summarise } from "./metrics.js";

/** What text and charts can be coloured by. `of(entry, gate)` is null where a token has no such number. */
export const QUANTITIES = {
  outcome: { label: "outcome", of: () => null },
  draft_entropy: {
    label: "draft entropy",
    symbol: "H draft",
    unit: "nats",
    threshold: "draft_threshold",
    knob: "τ draft",
    of: (e) => e.token.draft_entropy ?? null,
  },
  target_entropy: {
    label: "target entropy",
    symbol: "H target",
    unit: "nats",
    threshold: "target_threshold",
    knob: "τ target",
    of: (e) => e.token.target_entropy ?? null,
  },
  difference: {
    label: "entropy difference",
    symbol: "H draft − H target",
    unit: "nats",
    centred: true,
    of: (e) => (e.drafted && e.token.target_entropy !== null ? e.token.draft_entropy - e.token.target_entropy : null),
  },
  overlap: {
    label: "overlap",
    symbol: "overlap",
    threshold: "overlap_threshold",
    knob: "ρ",
    fixed: [0, 1],
    of: (e, gate) => (e.drafted && e.token.target_top ? overlapOf(e.token, gate.k) : null),
  },
  shift: {
    label: "distribution shift",
    symbol: "TV at gated",
    fixed: [0, 1],
    of: (e, gate) => (e.drafted && e.outcome === "gated" ? ((gate.resample === "exclude" ? e.token.tv_exclude : e.token.tv_target) ?? null) : null),
  },
  target_prob: { label: "target probability", symbol: "p", fixed: [0, 1], of: (e) => e.token.target_prob ?? null },
  accept_prob: { label: "acceptance probability", symbol: "min(1, p/q)", fixed: [0, 1], of: (e) => e.token.accept_prob ?? null },
};

const stores = new Map();

/** The store of this name, made when first asked for. */
export function storeOf(name) {
  if (!stores.has(name)) stores.set(name, new Store(name));
  return stores.get(name);
}

export class Store {
  constructor(name) {
    this.name = name;
    this.raw = { head: null, steps: [], foot: null };
    this.trace = null; // {head, rounds, foot}
    this.gate = null;
    this.replay = null; // null where nothing is judged: target-only and draft-only runs
    this.entries = []; // every token that is drawn, in the order of the text
    this.selected = null; // an entry's key
    this.colour = "outcome";
    this.show = { turned: true, discarded: false }; // drafts in the text that are not on the path
    this.from = 0; // rounds before this one are not shown: a branch beside its parent begins at the fork
    this.generation = 0; // counts traces; a view that sees a new number starts from nothing
    this.listeners = new Set();
    this.pending = new Set();
  }

  // ---- what changes it ------------------------------------------------------------------------------------------

  /** A view model from Python (views/data.py). Keeps all that is the same, so a step that comes in costs one step. */
  setValue(value) {
    const next = value ?? { head: null, steps: [], foot: null };
    this.from = next.from ?? 0;
    let kept = 0;
    if (next.head === this.raw.head) {
      while (kept < next.steps.length && next.steps[kept] === this.raw.steps[kept]) kept++;
    }
    const isNew = next.head !== this.raw.head || kept < this.raw.steps.length;
    this.raw = { head: next.head, steps: [...next.steps], foot: next.foot };
    this.#parse(next, isNew ? 0 : kept, isNew);
    this.#judge();
    this.#tell(isNew ? "trace" : "steps");
  }

  #parse(value, kept, isNew) {
    if (!value.head) {
      this.trace = null;
      this.entries = [];
      return;
    }
    if (isNew) {
      const before = this.find(this.selected)?.token;
      const head = JSON.parse(value.head);
      this.generation += 1;
      this.trace = { head, rounds: [], foot: null };
      this.entries = [];
      this.path = new PathText();
      this.gate = gateOf(head.config);
      this.#append(value.steps);
      // A branch shares its parent's tokens: what was selected stays so where it is still there.
      const same = before && this.find(this.selected)?.token;
      if (!same || same.position !== before.position || same.token_id !== before.token_id) this.selected = null;
    } else {
      this.#append(value.steps.slice(kept));
    }
    this.trace.foot = value.foot ? JSON.parse(value.foot) : null;
  }

  #append(steps) {
    for (const json of steps) {
      const round = JSON.parse(json);
      this.trace.rounds.push(round);
      round.drafted.forEach((token, i) => this.#addEntry(round, token, `${round.index}.${i + 1}`, true));
      if (round.emitted) this.#addEntry(round, round.emitted, `${round.index}.e`, false);
    }
  }

  #addEntry(round, token, key, drafted) {
    const onPath = !drafted || token.outcome === "accepted";
    const text = onPath ? this.path.show(token) : offPathText(token);
    const entry = { n: this.entries.length, key, round: round.index, token, drafted, onPath, text };
    entry.recorded = drafted ? token.outcome : token.source;
    this.entries.push(entry);
  }

  /** Set knobs of the gate: any of draft_threshold, target_threshold, overlap_threshold, k, resample, mode. */
  setGate(knobs) {
    if (!this.trace) return;
    const { config } = this.trace.head;
    this.gate = gateOf({ ...config, ...knobs });
    this.#judge();
    this.#tell("gate");
  }

  select(key) {
    if (key === this.selected) return;
    this.selected = key;
    this.#tell("select");
  }

  setColour(name) {
    this.colour = name;
    this.#tell("style");
  }

  /** Show or hide the drafts that were "turned" away (rejected, gated), or those that were "discarded". */
  setShow(kind, on) {
    this.show[kind] = on;
    this.#tell("style");
  }

  // ---- what is worked out ---------------------------------------------------------------------------------------

  #judge() {
    const mode = this.trace?.head.config.mode;
    this.replay = mode === "easd" || mode === "sd" ? rejudge(this.trace, this.gate) : null;
    const { boundary } = this.replay ?? {};
    for (const entry of this.entries) {
      const { round, token, drafted } = entry;
      entry.outcome = entry.recorded;
      entry.region = "exact";
      entry.changed = false;
      if (!boundary) continue;
      if (drafted) {
        const i = token.draft_index - 1;
        entry.region = this.replay.regions[round][i];
        entry.changed = boundary.step === round && boundary.index === i;
        if (entry.region !== "counterfactual") entry.outcome = this.replay.outcomes[round][i];
      } else if (round >= boundary.step) {
        entry.region = "counterfactual";
      }
    }
    this.#metrics = null;
  }

  #metrics = null;

  /** Of the run as recorded, or, where the knobs have been moved over a verdict, estimates on the recorded path. */
  get metrics() {
    if (!this.trace) return null;
    this.#metrics ??= summarise(this.trace, this.replay?.boundary ? this.replay.outcomes : null);
    return this.#metrics;
  }

  verdict(entry) {
    return entry.drafted && entry.token.target_top ? judge(entry.token, this.gate) : null;
  }

  find(key) {
    return key === null ? null : (this.entries.find((entry) => entry.key === key) ?? null);
  }

  /** The token of the text that a drafted one made room for: its round's emitted one. */
  replacement(entry) {
    return this.trace.rounds[entry.round]?.emitted ?? null;
  }

  /** Entries that the text shows. */
  visible() {
    return this.entries.filter((entry) => entry.round >= this.from && (entry.onPath || (entry.outcome === "discarded" ? this.show.discarded : this.show.turned)));
  }

  /** [low, high] of a quantity over the trace, for a colour scale. */
  range(name) {
    const quantity = QUANTITIES[name];
    if (quantity.fixed) return quantity.fixed;
    let high = 0;
    for (const entry of this.entries) {
      const value = quantity.of(entry, this.gate);
      if (value !== null) high = Math.max(high, Math.abs(value));
    }
    high = Math.max(1, Math.ceil(high));
    return quantity.centred ? [-high, high] : [0, high];
  }

  // ---- who hears of it ------------------------------------------------------------------------------------------

  /** `listen(what)` is called once a frame with a set of "trace", "steps", "gate", "select", "style". */
  subscribe(listen) {
    this.listeners.add(listen);
    if (this.trace) listen(new Set(["trace"]));
    return () => this.listeners.delete(listen);
  }

  #tell(what) {
    if (!this.pending.size) requestFrame(() => this.flush());
    this.pending.add(what);
  }

  flush() {
    const what = this.pending;
    this.pending = new Set();
    for (const listen of this.listeners) {
      try {
        listen(what);
      } catch (error) {
        console.error("easd: a view failed to draw", error); // one broken view must not take the others with it
      }
    }
  }
}

/** A hidden page gets no frames; its views must still follow a run. */
function requestFrame(draw) {
  if (typeof document === "undefined" || document.hidden) setTimeout(draw, 0);
  else requestAnimationFrame(draw);
}
