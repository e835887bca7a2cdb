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

/** P(y) with the gate open at this position, resampling from the target: β·p(y) + (1 − β)·r(y), and (1 − β)·r(y) = max(p(y) − q(y), 0). */
export function gatedLaw({ p, q }, beta) {
  return beta * p + Math.max(p - q, 0);
}

/** "As unsure as a die with this many sides": e^H. */
export const sidesOfDie = (entropy) => Math.exp(entropy);

/** The token under u on the pile of probabilities, the likeliest lowest: its index in `top`, or −1 for any of the rest. */
export function under(top, u) {
  let pile = 0;
  for (const [i, [, , prob]] of top.entries()) {
    pile += prob;
    if (u <= pile) return i;
  }
  return -1;
}

/**
 * Questions for a quiz: `entries` in an order that is the same every time, yet changes between verdicts as long as it can, so that
 * "always rejected" is a bad guess. `verdictOf(entry)` names what they differ in.
 */
export function mixed(entries, verdictOf) {
  const piles = new Map();
  for (const entry of entries) {
    const name = verdictOf(entry);
    if (!piles.has(name)) piles.set(name, []);
    piles.get(name).push(entry);
  }
  const out = [];
  const order = [...piles.values()].sort((a, b) => a.length - b.length);
  for (let i = 0; out.length < entries.length; i++) {
    const turn = order.filter((pile) => i < pile.length);
    const shift = (i * 7 + 3) % turn.length; // not the same order in every round of turns
    for (let j = 0; j < turn.length; j++) out.push(turn[(j + shift) % turn.length][i]);
  }
  return out;
}
