import { type Guard, issuerMetadata } from 'protected-api';

/** The longest time that the documentation waits for the issuer's metadata. */
const maxWaitMs = 1000;
/** Minimum time between a failed attempt and the next one, because requests for the documentation cause it. */
const cooldownMs = 30_000;

/**
 * Returns a function that returns the token endpoint in the metadata of the guard's first issuer, after at most one
 * second. While the metadata are unknown it returns `${issuer}oauth/token`, or undefined for an issuer that is no URL
 * with a trailing slash.
 */
export function createTokenUrlFinder(guard: Guard): () => Promise<string | undefined> {
  const [{ issuer } = { issuer: '' }] = guard.state().issuers;
  let endpoint = /^https?:.*\/$/.test(issuer) ? `${issuer}oauth/token` : undefined;
  let attempt: Promise<void> | undefined;

  const read = async () => {
    try {
      ({ tokenEndpoint: endpoint = endpoint } = await issuerMetadata(guard));
    } catch {
      // The log has outages of the issuer from its key set.
      setTimeout(() => (attempt = undefined), cooldownMs).unref();
    }
  };

  return async () => {
    attempt ??= read();
    await Promise.race([attempt, Bun.sleep(maxWaitMs)]);
    return endpoint;
  };
}
