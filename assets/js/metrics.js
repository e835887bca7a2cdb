// What a run comes to in numbers: the browser's copy of easd_viz/metrics.py (tested to agree with it). No DOM here.
// A metric that a run leaves undefined is null, never 0.

const sum = (values) => values.reduce((a, b) => a + b, 0);
const ratio = (numerator, denominator) => ({ numerator, denominator, value: denominator > 0 ? numerator / denominator : null });

export function median(values) {
  if (!values.length) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** Leviathan et al. 2023, theorem 3.8. */
export function expectedSpeedUp(alpha, gamma, c) {
  let tokens = 0;
  for (let i = 0; i <= gamma; i++) tokens += alpha ** i;
  return tokens / (gamma * c + 1);
}

/**
 * @param trace {head, rounds, foot}
 * @param outcomes per round, per drafted token; the recorded ones by default. Others give estimates on the recorded path.
 */
export function summarise(trace, outcomes = null) {
  const { head, rounds, foot } = trace;
  const { mode, gamma } = head.config;
  const verified = mode === "easd" || mode === "sd";
  const count = { accepted: 0, rejected: 0, gated: 0, discarded: 0 };
  const path = [];
  rounds.forEach((round, r) => {
    round.drafted.forEach((token, i) => {
      const outcome = outcomes ? outcomes[r][i] : token.outcome;
      count[outcome] += 1;
      if (outcome !== "discarded" && verified) path.push({ token, outcome });
    });
  });
  const drafted = sum(rounds.map((round) => round.drafted.length));
  const ends = rounds.filter((round) => round.emitted).length;
  const emitted = count.accepted + ends;
  const recorded = sum(rounds.map((round) => round.drafted.filter((token) => token.outcome === "accepted").length)) + ends;
  const passes = mode === "draft" ? 0 : rounds.length;
  const betas = path.map(({ token }) => token.beta);
  const alpha = ratio(sum(betas), betas.length);
  const times = timesOf(rounds, foot);
  const cost = costOf(rounds, verified);
  return {
    counts: { rounds: rounds.length, passes, drafted, emitted, decided: path.length, ...count },
    acceptance_rate: ratio(verified ? count.accepted : 0, path.length),
    expected_acceptance: alpha,
    by_index: verified ? byIndex(path, gamma) : [],
    draft_utilisation: verified ? ratio(count.accepted, drafted) : ratio(0, 0),
    block_efficiency: ratio(emitted, passes),
    gate_rate: verified ? ratio(count.gated, count.accepted + count.gated) : ratio(0, 0),
    cost,
    expected_speed_up: alpha.value === null || cost === null ? null : expectedSpeedUp(Math.min(alpha.value, 1), gamma, cost),
    throughput: ratio(recorded, times.wall_ms / 1000),
    times,
  };
}

function byIndex(path, gamma) {
  return Array.from({ length: gamma }, (_, i) => {
    const here = path.filter(({ token }) => token.draft_index === i + 1);
    const betas = here.map(({ token }) => token.beta);
    return { accepted: ratio(here.filter((each) => each.outcome === "accepted").length, here.length), beta: ratio(sum(betas), betas.length) };
  });
}

function timesOf(rounds, foot) {
  const draft_ms = sum(rounds.map((round) => round.draft_ms));
  const verify_ms = sum(rounds.map((round) => round.verify_ms));
  const record_ms = sum(rounds.map((round) => round.record_ms));
  const wall_ms = Math.max(draft_ms + verify_ms + record_ms, foot?.wall_ms ?? 0);
  return { draft_ms, verify_ms, record_ms, wall_ms, prefill_ms: foot?.prefill_ms ?? null };
}

/** Leviathan's c = draft step time / target step time. */
function costOf(rounds, verified) {
  const timed = verified ? rounds.filter((round) => round.drafted.length) : [];
  const draft = median(timed.map((round) => round.draft_ms / round.drafted.length));
  const target = median(timed.map((round) => round.verify_ms));
  return draft === null || !target ? null : draft / target;
}
