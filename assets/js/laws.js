// The laws of one position, from what a trace recorded there. No DOM here: node runs it in the tests.
//
// A trace holds the 20 most likely tokens of each model. Where a token is in one list only, its probability in the other model is not
// known: it is at most that list's last one. Such a bound is marked (`atMost`), and is drawn as 0.

/** Per token of either list, the likeliest first: {id, text, p, q, pAtMost, qAtMost}; a bound is null where the number is known. */
export function sides(token) {
  const last = (top) => top[top.length - 1]?.[2] ?? 0;
  const bounds = { p: last(token.target_top), q: last(token.draft_top) };
  const rows = new Map();
  const row = (id, text) => {
    if (!rows.has(id)) rows.set(id, { id, text, p: 0, q: 0, pAtMost: bounds.p, qAtMost: bounds.q });
    return rows.get(id);
  };
  for (const [id, text, p] of token.target_top) Object.assign(row(id, text), { p, pAtMost: null });
  for (const [id, text, q] of token.draft_top) Object.assign(row(id, text), { q, qAtMost: null });
  return [...rows.values()].sort((a, b) => Math.max(b.p, b.q) - Math.max(a.p, a.q));
}

/**
 * How a token comes about under SD: `kept` as a draft, min(p, q); `surplus`, max(p − q, 0), by way of the residual; `excess`,
 * max(q − p, 0), is what the draft proposes too often and is turned away. kept + surplus = p: SD is lossless.
 */
export function split({ p, q }) {
  return { kept: Math.min(p, q), surplus: Math.max(p - q, 0), excess: Math.max(q - p, 0) };
}

/**
 * P(y) with the gate open at this position, on the rows of `sides`: each gets `emitted`, and `isNear` where that is an estimate.
 * `target`: β·p(y) + (1 − β)·r(y). `exclude`: Σ_{x≠y} min(p, q)(x)·p(y) / (1 − p(x)) + (1 − β)·r(y). (1 − β)·r(y) = max(p(y) − q(y), 0).
 * What the lists leave out counts as 0 there, and the part of β outside both lists as spread thin.
 */
export function emittedLaw(token, rule) {
  const rows = sides(token);
  const away = ({ p, q }) => (1 - p > 1e-9 ? Math.min(p, q) / (1 - p) : 0);
  const listed = rows.reduce((sum, { p, q }) => sum + Math.min(p, q), 0);
  const allAway = rows.reduce((sum, row) => sum + away(row), Math.max(0, token.beta - listed));
  const weight = (row) => (rule === "target" ? token.beta : allAway - away(row));
  return rows.map((row) => ({
    ...row,
    emitted: Math.min(1, weight(row) * row.p + Math.max(row.p - row.q, 0)),
    isNear: rule !== "target" || row.pAtMost !== null || row.qAtMost !== null,
  }));
}

/** What an estimate among these rows is called, for a line below them. */
export const NEAR = "≈: an estimate from the recorded top lists; what a list leaves out counts as 0.";
