import { type Guard, issuerMetadata } from 'protected-api/guard';

/** The longest time that the documentation waits for the issuer's metadata. */
const maxWaitMs = 1000;
/** Minimum time between the starts of two look-ups, which requests for the documentation cause. */
const cooldownMs = 30_000;

const realTime = {
  /** Returns monotonic time. */
  now: () => performance.now(),
  /** Resolves after so many milliseconds. */
  wait: (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms)),
};

/**
 * Returns a function that returns the token endpoint in the metadata of the guard's first issuer, after at most one second. While
 * the metadata are unknown it returns `${issuer}oauth/token`, or undefined for an issuer without a trailing slash.
 */
export function createTokenEndpoint(guard: Guard, { now, wait } = realTime): () => Promise<string | undefined> {
  const [{ issuer } = { issuer: '' }] = guard.state().issuers;
  let endpoint = issuer.endsWith('/') ? `${issuer}oauth/token` : undefined;
  let nextReadAtMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | undefined;

  async function read(): Promise<void> {
    nextReadAtMs = now() + cooldownMs;
    try {
      const { tokenEndpoint = endpoint } = await issuerMetadata(guard);
      endpoint = tokenEndpoint;
      nextReadAtMs = Number.POSITIVE_INFINITY;
    } catch {
      // The key set reports outages. The documentation works without a token endpoint.
    }
    pending = undefined;
  }

  return async () => {
    if (now() >= nextReadAtMs) pending ??= read();
    if (pending) await Promise.race([pending, wait(maxWaitMs)]);
    return endpoint;
  };
}
