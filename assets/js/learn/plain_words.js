// Why a token was kept or turned away, for someone who has never heard of speculative decoding. No DOM here.

import { probability, visibleText } from "../dom.js";
import { ACCEPT, GATE } from "./goto.js";

/** {text, chapter}: a sentence or two on a drafted token, and the chapter that explains the rule. */
export function plainWords({ token, outcome }) {
  const word = `“${visibleText(token)}”`;
  const [p, q] = [probability(token.target_prob), probability(token.draft_prob)];
  const guess = `The small draft model guessed ${word} (q = ${q})`;
  if (outcome === "discarded") return { text: `${guess}, but an earlier guess of this round was turned away, so this one was never asked about.`, chapter: 1 };
  if (outcome === "gated") return { text: `${guess} and the test let it pass, but both models were unsure here and looked at the same few tokens: the gate turned it away, and the large model drew again.`, chapter: GATE };
  if (outcome === "rejected") return { text: `${guess}; the large target model finds it ${times(token)} likely (p = ${p}). Such a guess is kept with chance p/q, and this time it was not.`, chapter: ACCEPT };
  const sure = token.target_prob >= token.draft_prob;
  return {
    text: sure ? `${guess}; the large target model finds it at least as likely (p = ${p}), so it was kept for sure.` : `${guess}; the large target model finds it ${times(token)} likely (p = ${p}). It is kept with chance p/q, and this time it was.`,
    chapter: ACCEPT,
  };
}

function times({ draft_prob, target_prob }) {
  if (target_prob === 0) return "not at all";
  const ratio = draft_prob / target_prob;
  if (ratio < 1.5) return "a little less";
  return `${ratio < 10 ? ratio.toFixed(1) : ratio < 1000 ? ratio.toFixed(0) : "over a thousand"} times less`;
}
