// What the chapters compute beyond the laws: draws, dice, and the order of the questions. No DOM here: node runs it in the tests.

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
