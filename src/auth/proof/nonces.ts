import { base64url } from 'jose';

/*
 * Nonces that the server gives out (RFC 9449 §9): a time and its HMAC, so that nothing is stored, and every process with the
 * secret knows those of the others.
 */

/** How far the clock of another process may be ahead. */
const clockDifferenceSeconds = 30;

export interface Nonces {
  issue(): Promise<string>;
  /** Whether this server gave out the nonce within the maximum age of a proof. */
  isFresh(nonce: string): Promise<boolean>;
}

/** @param secrets the current one first, then one that is being replaced */
export function createNonces(secrets: readonly string[], maxAgeSeconds: number, now: () => number): Nonces {
  // Imported on first use, because Cloudflare Workers do nothing at module level.
  let keys: Promise<readonly CryptoKey[]> | undefined;
  const importKeys = () => Promise.all(secrets.map(importSecret));

  async function sign(text: string): Promise<readonly string[]> {
    keys ??= importKeys();
    const data = new TextEncoder().encode(`dpop-nonce ${text}`);
    const signatures = (await keys).map((key) => crypto.subtle.sign('HMAC', key, data));
    return (await Promise.all(signatures)).map((bytes) => `${text}.${base64url.encode(new Uint8Array(bytes))}`);
  }

  return {
    async issue() {
      const [nonce = ''] = await sign(Math.floor(now() / 1000).toString(36));
      return nonce;
    },
    async isFresh(nonce) {
      const [time = ''] = nonce.split('.', 1);
      const ageSeconds = now() / 1000 - Number.parseInt(time, 36);
      const isRecent = ageSeconds < maxAgeSeconds + 1 && ageSeconds >= -clockDifferenceSeconds;
      // Clients learn every valid nonce anyway, so the time of the comparison reveals nothing.
      return isRecent && time.length < 12 && (await sign(time)).includes(nonce);
    },
  };
}

const importSecret = (secret: string) =>
  crypto.subtle.importKey('raw', new TextEncoder().encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
