// The decision on one drafted token: the browser's copy of easd_viz/verify.py, so that a slider answers without a server.
// Both are tested against one table of cases (tests/data/gate_cases.json). No DOM here: node runs it too.
//
// A gate is {draft_threshold, target_threshold, overlap_threshold, k, resample, greedy}; a closed one has infinite thresholds.

/** A config of a trace file -> its gate. "inf" stands for an infinite threshold; any mode but "easd" has a closed gate. */
export function gateOf(config) {
  const open = config.mode === "easd";
  const number = (value) => (value === "inf" ? Infinity : value);
  return {
    draft_threshold: open ? number(config.draft_threshold) : Infinity,
    target_threshold: open ? number(config.target_threshold) : Infinity,
    overlap_threshold: config.overlap_threshold,
    k: config.k,
    resample: config.resample,
    greedy: config.temperature === 0,
  };
}

/** min(1, p(x) / q(x)). */
export function acceptProbability(draftProb, targetProb) {
  return Math.min(1, targetProb / draftProb);
}

/** overlap_k from two lists of token ids, best first; a list shorter than k counts as that long. */
export function overlap(draftIds, targetIds, k) {
  const size = Math.min(k, draftIds.length, targetIds.length);
  const target = new Set(targetIds.slice(0, size));
  let shared = 0;
  for (const id of new Set(draftIds.slice(0, size))) shared += target.has(id) ? 1 : 0;
  return shared / size;
}

/** False where the rule "exclude" leaves nothing to draw from: p(x) = 1, away from temperature 0. */
export function canResample(targetProb, gate) {
  return gate.resample === "exclude" && !gate.greedy ? targetProb < 1 : true;
}

/** The verdict: {outcome, accept_prob, accepted_by_sd, draft_uncertain, target_uncertain, agreeing}. */
export function decide({ draft_prob, target_prob, uniform, draft_entropy, target_entropy, overlap, gate }) {
  const accept_prob = acceptProbability(draft_prob, target_prob);
  const accepted_by_sd = uniform <= accept_prob;
  const draft_uncertain = draft_entropy >= gate.draft_threshold;
  const target_uncertain = target_entropy >= gate.target_threshold;
  const agreeing = overlap >= gate.overlap_threshold;
  const fires = draft_uncertain && target_uncertain && agreeing && canResample(target_prob, gate);
  const outcome = accepted_by_sd ? (fires ? "gated" : "accepted") : "rejected";
  return { outcome, accept_prob, accepted_by_sd, draft_uncertain, target_uncertain, agreeing };
}

/** A recorded token's overlap at any k; kept on the token, as a drag asks for the same ones again and again. */
export function overlapOf(token, k) {
  token.overlaps ??= [];
  token.overlaps[k] ??= overlap(
    token.draft_top.map((entry) => entry[0]),
    token.target_top.map((entry) => entry[0]),
    k,
  );
  return token.overlaps[k];
}

/** `decide` on a recorded drafted token, its overlap taken anew at the gate's k. */
export function judge(token, gate) {
  return decide({ ...token, overlap: overlapOf(token, gate.k), gate });
}
