// A recorded run under other knobs: the browser's copy of easd_viz/replay.py (tested to agree with it). No DOM here.
//
// Exact up to the first drafted token that is treated differently. Where that change lets the round go on, the rest of the round is
// "in_round" exact, as all of it was recorded. Everything later is "counterfactual": the text would have been another one.

import { gateOf, judge } from "./decide.js";

/**
 * @param trace {head, rounds} as store.js parses it
 * @param gate the knobs
 * @returns {{outcomes, verdicts, regions, boundary}} the first three: per round, per drafted token. `boundary` is null where the knobs change
 *   nothing, else {step, index, position, reason, goes_on, last_known}.
 */
export function rejudge(trace, gate) {
  const forced = { ...pinned(trace), ...trace.head.parent?.forced };
  const ends = endOfTextIds(trace);
  const out = { outcomes: [], verdicts: [], regions: [], boundary: null };
  for (const round of trace.rounds) {
    const verdicts = round.drafted.map((token) => judge(token, gate));
    const now = outcomesOf(round, verdicts, forced, ends);
    const found = out.boundary ? null : firstDifference(round, now, gate, ruleOf(trace, round));
    out.verdicts.push(verdicts);
    out.outcomes.push(now);
    out.regions.push(round.drafted.map((_, i) => regionOf(i, found, out.boundary)));
    if (found) {
      const last = found.goes_on ? round.drafted.length - 1 : found.index;
      const position = round.drafted[found.index].position;
      out.boundary = { step: round.index, position, ...found, last_known: round.drafted[last].position };
    }
  }
  return out;
}

/** A round walked anew, left to right, on its recorded drafts: outcomes up to the stop, "discarded" behind it. */
function outcomesOf(round, verdicts, forced, ends) {
  let open = true;
  return round.drafted.map((token, i) => {
    if (!open) return "discarded";
    const outcome = forced[token.position] ?? verdicts[i].outcome;
    // Recorded as accepted with a discarded token behind it: an end of text.
    const ended = token.outcome === "accepted" && round.drafted[i + 1]?.outcome === "discarded";
    open = outcome === "accepted" && !ended && !ends.has(token.token_id);
    return outcome;
  });
}

function endOfTextIds({ head, rounds, foot }) {
  const ids = new Set(head.tokenizer.eos_token_ids ?? []);
  if (foot?.stop_reason === "eos" && rounds.length) {
    const { drafted, emitted } = rounds[rounds.length - 1];
    const last = emitted ?? drafted.filter((token) => token.outcome === "accepted").pop();
    if (last) ids.add(last.token_id);
  }
  return ids;
}

/** Verdicts on a branch's inherited tokens that its own knobs would not give: forking behind them has fixed them. */
function pinned({ head, rounds }) {
  const out = {};
  if (!head.parent) return out;
  const recorded = gateOf(head.config);
  for (const round of rounds.slice(0, head.parent.step)) {
    for (const token of round.drafted) {
      if (token.outcome !== "discarded" && judge(token, recorded).outcome !== token.outcome) out[token.position] = token.outcome;
    }
  }
  return out;
}

const SOURCE_OF_REPLACEMENT = { target: "target", exclude: "target_excluding_draft" };

/** The resampling rule of a round's gated token; null in an inherited round that another rule decided (it is fixed). */
function ruleOf({ head }, round) {
  const rule = head.config.resample;
  if (!head.parent || round.index >= head.parent.step || !round.emitted) return rule;
  return round.emitted.source === SOURCE_OF_REPLACEMENT[rule] ? rule : null;
}

/** `recorded`: the rule that gated tokens of this round were resampled by; null where it does not matter. */
function firstDifference(round, now, gate, recorded) {
  for (const [index, token] of round.drafted.entries()) {
    if (token.outcome !== now[index]) return { index, reason: "verdict", goes_on: now[index] === "accepted" };
    if (now[index] === "gated" && recorded !== null && gate.resample !== recorded) return { index, reason: "resample", goes_on: false };
  }
  return null;
}

function regionOf(i, found, boundary) {
  if (boundary) return "counterfactual";
  if (!found || i <= found.index) return "exact";
  return found.goes_on ? "in_round" : "counterfactual";
}
