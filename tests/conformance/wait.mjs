// Waiting for what is asserted.
export class Failed extends Error {}
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export const PATIENCE_MS = 10_000

/** The first true value of `see`; fails with `what` when none comes in time. */
export async function until (what, see, ms = PATIENCE_MS) {
  const end = performance.now() + ms
  for (;;) {
    const seen = see()
    if (seen) return seen
    if (performance.now() > end) throw new Failed(`not within ${ms / 1000} s: ${what}`)
    await sleep(4)
  }
}

/** Fails with `what` unless it holds. */
export function hold (what, holds) {
  if (!holds) throw new Failed(what)
}

/** Fails with `what` when it comes to be true within so long. */
export async function never (what, see, ms) {
  const end = performance.now() + ms
  while (performance.now() < end) {
    hold(what, !see())
    await sleep(4)
  }
}
