// One clock for all lanes: how long each lane's rounds took, and what of them has happened by a moment. No DOM here.

/** When each round of a trace had ended, in ms from its start, the prompt's prefill left out. */
export function roundEnds(rounds) {
  let at = 0;
  return rounds.map((round) => (at += round.draft_ms + round.verify_ms + round.record_ms));
}

/** How many of `ends` lie at or before `now`. */
export function ended(ends, now) {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] <= now) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Runs from 0 to `length` at `speed` times the recorded speed; at rest it stands at the end, where everything shows. */
export class Clock {
  constructor(nextFrame = (tick) => requestAnimationFrame(tick)) {
    this.nextFrame = nextFrame;
    this.length = 0;
    this.now = 0;
    this.speed = 1;
    this.playing = false;
    this.listeners = new Set();
  }

  onTick(listen) {
    this.listeners.add(listen);
  }

  /** Another recording: the clock stands at its end. */
  reset(length) {
    this.length = length;
    this.playing = false;
    this.set(length);
  }

  set(now) {
    this.now = Math.min(Math.max(now, 0), this.length);
    for (const listen of this.listeners) listen(this.now);
  }

  play() {
    if (this.playing) return;
    this.playing = true;
    let before = null;
    if (this.now >= this.length) this.now = 0;
    const tick = (time) => {
      if (!this.playing) return;
      const passed = before === null ? 0 : time - before;
      before = time;
      if (this.now + passed * this.speed >= this.length) this.playing = false;
      this.set(this.now + passed * this.speed);
      if (this.playing) this.nextFrame(tick);
    };
    this.nextFrame(tick);
    this.set(this.now);
  }

  pause() {
    this.playing = false;
    this.set(this.now);
  }
}
