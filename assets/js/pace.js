// Charts that follow a run share the page with the visitor, and often the machine with the models: together they take a part of
// the time. What is asked for while they wait is drawn once, as it stands by then.

const REST = 4; // ms of rest after each ms of drawing

const waiting = new Set(); // in the order they asked
let busy = false;

/** Let a plot draw (`settle()`) when its turn comes. */
export function follow(plot) {
  waiting.add(plot);
  if (!busy) next();
}

async function next() {
  busy = waiting.size > 0;
  if (!busy) return;
  const [plot] = waiting;
  waiting.delete(plot);
  const started = performance.now();
  try {
    await plot.settle();
  } finally {
    setTimeout(next, REST * (performance.now() - started));
  }
}
