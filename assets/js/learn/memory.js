// What the Learn tab remembers in this browser: the chapter, the example, the score. Nothing is sent anywhere.

const KEY = "easd-learn";
const BLANK = { chapter: 0, example: null, score: {}, next: {} };

export class Memory {
  constructor(storage = safeStorage()) {
    this.storage = storage;
    this.listeners = new Set();
    this.state = { ...structuredClone(BLANK), ...this.#read() };
  }

  #read() {
    try {
      return JSON.parse(this.storage?.getItem(KEY) ?? "{}") ?? {};
    } catch {
      return {}; // what is stored is not ours, or damaged: begin anew
    }
  }

  set(change) {
    Object.assign(this.state, change);
    try {
      this.storage?.setItem(KEY, JSON.stringify(this.state));
    } catch {
      // a full or forbidden storage: remembered for this visit only
    }
    for (const listen of this.listeners) listen(this.state);
  }

  subscribe(listen) {
    this.listeners.add(listen);
  }

  // ---- the score ------------------------------------------------------------------------------------------------

  /** {right, asked} of one quiz, or of all of them. */
  score(quiz = null) {
    const each = Object.entries(this.state.score).filter(([name]) => quiz === null || name === quiz);
    return each.reduce((sum, [, { right, asked }]) => ({ right: sum.right + right, asked: sum.asked + asked }), { right: 0, asked: 0 });
  }

  answered(quiz, right) {
    const { right: before, asked } = this.score(quiz);
    this.set({ score: { ...this.state.score, [quiz]: { right: before + (right ? 1 : 0), asked: asked + 1 } } });
  }

  /** Which question of a quiz over an example comes next: one that was answered doesn't come again at once. */
  next(quiz, example) {
    return this.state.next[`${quiz} ${example}`] ?? 0;
  }

  setNext(quiz, example, n) {
    this.set({ next: { ...this.state.next, [`${quiz} ${example}`]: n } });
  }

  forgetScore() {
    this.set({ score: {}, next: {} });
  }
}

function safeStorage() {
  try {
    return window.localStorage;
  } catch {
    return null; // a browser may forbid it
  }
}
