import { systemClock } from '../values/clock.ts';

/** `setTimeout` calls back at once for a longer time. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Calls back at a time in milliseconds since 1970, and returns a function that cancels the call. */
export function callAt(timeMs: number, callback: () => void): () => void {
  let cancel = () => {};
  const wait = () => {
    const delayMs = timeMs - Date.now();
    if (delayMs <= 0) callback();
    else cancel = systemClock.schedule(wait, Math.min(delayMs, MAX_DELAY_MS));
  };
  wait();
  return () => cancel();
}

/** Returns the body of a response that ends at a time in milliseconds since 1970, as if the handler had ended it. */
export function endedAt(body: ReadableStream<Uint8Array>, timeMs: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const end = () => reader.cancel().catch(() => {});
  const cancelEnd = callAt(timeMs, end);
  return new ReadableStream({
    async pull(controller) {
      // After `cancel`, a pending read is done.
      const { value } = await reader.read();
      if (value !== undefined) return controller.enqueue(value);
      cancelEnd();
      controller.close();
    },
    cancel() {
      cancelEnd();
      return end();
    },
  });
}
