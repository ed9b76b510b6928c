import { systemClock } from '../values/clock.ts';

/** `setTimeout` calls back at once for a longer time, and a client opens a stream again that ends after 24 days. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Calls back at a time in milliseconds since 1970, or earlier if it is far, and returns a function that cancels the call. */
export const callAt = (timeMs: number, callback: () => void): (() => void) =>
  systemClock.schedule(callback, Math.min(timeMs - Date.now(), MAX_DELAY_MS));

/** Returns the body of a response that ends at such a time, as if the handler had ended it. */
export function endedAt(body: ReadableStream<Uint8Array>, timeMs: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const end = () => reader.cancel().catch(() => {});
  const cancelEnd = callAt(timeMs, end);
  // However it ends, also by an error: otherwise the timer would keep it until then.
  reader.closed.then(cancelEnd, cancelEnd);
  return new ReadableStream({
    async pull(controller) {
      // After `cancel`, a pending read is done.
      const { value } = await reader.read();
      if (value !== undefined) return controller.enqueue(value);
      controller.close();
    },
    cancel: end,
  });
}
