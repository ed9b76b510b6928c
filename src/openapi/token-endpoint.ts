import { type Guard, issuerMetadata } from 'protected-api/guard';

export interface TokenEndpointOptions {
  /** Minimum time between the starts of two look-ups. */
  readonly cooldownMs: number;
  /** Monotonic time. */
  readonly now?: () => number;
  /** Resolves after so many milliseconds. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** The documentation does not wait longer for the metadata of the issuer. */
const maxWaitMs = 1000;

const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/**
 * Returns a function that returns the token endpoint in the metadata of the guard's first issuer, after at most one second. While
 * the metadata are unknown it returns `${issuer}oauth/token`, or undefined for an issuer without a trailing slash.
 */
export function createTokenEndpoint(guard: Guard, options: TokenEndpointOptions): () => Promise<string | undefined> {
  const { cooldownMs, now = () => performance.now(), wait = sleep } = options;
  const [{ issuer } = { issuer: '' }] = guard.state().issuers;
  const assumed = issuer.endsWith('/') ? `${issuer}oauth/token` : undefined;
  let found: string | undefined;
  let nextReadAtMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | undefined;

  async function read(): Promise<void> {
    nextReadAtMs = now() + cooldownMs;
    try {
      found = (await issuerMetadata(guard)).tokenEndpoint;
      nextReadAtMs = Number.POSITIVE_INFINITY;
    } catch {
      // The key set reports outages. The documentation works without a token endpoint.
    }
    pending = undefined;
  }

  return async () => {
    if (now() >= nextReadAtMs) pending ??= read();
    if (pending) await Promise.race([pending, wait(maxWaitMs)]);
    return found ?? assumed;
  };
}
