// Chapter 2: draft and verify, and why one pass can check γ tokens.

import { h, fixed } from "../../dom.js";
import { walker } from "../figures.js";
import { BEATS, RoundStage, sentence } from "../round.js";

export const draftVerify = {
  title: "Draft and verify",
  why: [
    "A large model is slow at writing, as it needs a pass per token. But it can read many tokens in one pass: what it says about each depends only on those before it, and in a finished text they are all there.",
    "So a small draft model guesses the next γ tokens, and the target checks all of them in one pass. Every guess that holds saves a pass.",
  ],
  make(body, { store }) {
    const { rounds } = store.trace;
    let round = firstWithKept(rounds);
    let beat = 0;
    const says = h("p.ez-says", { role: "status" });
    const place = h("div");
    const stage = new RoundStage(place, store);
    const time = h("div");
    const move = walker("round", (by) => {
      round = Math.min(Math.max(round + by, 0), rounds.length - 1);
      draw();
    });
    const beats = h(
      "div.ez-beats",
      { role: "group", "aria-label": "Beats of a round" },
      BEATS.map((name, i) => h("button", { type: "button", onclick: () => { beat = i; draw(); } }, `${i + 1} ${name}`)),
    );
    const draw = () => {
      stage.show(round, beat);
      [...beats.children].forEach((button, i) => button.setAttribute("aria-pressed", i === beat));
      says.textContent = sentence(rounds[round], beat);
      move.where.textContent = `round ${round} / ${rounds.length - 1}`;
      move.back.disabled = round === 0;
      move.on.disabled = round === rounds.length - 1;
      time.replaceChildren(clock(rounds[round]));
    };
    body.append(h("div.ez-lesson-row", {}, beats, move.element), says, place, time);
    draw();
  },
};

/** A round that shows something: the first with a kept guess, best with more than one. */
function firstWithKept(rounds) {
  const kept = (round) => round.drafted.filter((token) => token.outcome === "accepted").length;
  const good = rounds.findIndex((round) => kept(round) >= 2);
  return Math.max(0, good >= 0 ? good : rounds.findIndex((round) => kept(round) >= 1));
}

/** What this round took, as recorded: γ small passes and a large one. */
function clock(round) {
  const each = round.drafted.length ? round.draft_ms / round.drafted.length : 0;
  const whole = round.draft_ms + round.verify_ms;
  const emitted = round.drafted.filter((token) => token.outcome === "accepted").length + (round.emitted ? 1 : 0);
  const piece = (kind, ms, words) => h(`i.${kind}`, { "--w": `${(100 * ms) / whole}%` }, words);
  return h(
    "div.ez-clock",
    {},
    h("div.ez-clock-bar", { "aria-hidden": "true" }, round.drafted.map((token) => piece("draft", each, token.draft_index)), piece("verify", round.verify_ms, "target: one pass")),
    h("p", {}, `This round, as recorded: ${round.drafted.length} draft passes of ${fixed(each, 0)} ms, then one target pass of ${fixed(round.verify_ms, 0)} ms. It gave ${emitted} ${emitted === 1 ? "token" : "tokens"}; the target alone gives 1 per pass.`),
  );
}
