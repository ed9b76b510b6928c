import * as base64url from 'jose/base64url';

/*
 * Nonces that the server gives out (RFC 9449 §9): a time and its HMAC, so that nothing is stored, and every process
 * with the secret knows those of the others.
 */

/** @param secrets the current one first, then one that is being replaced */
export function createNonces(secrets: readonly string[], now: () => number) {
  // Imported on first use, because Cloudflare Workers do nothing at module level.
  let keys: Promise<readonly CryptoKey[]> | undefined;

  async function sign(text: string): Promise<readonly string[]> {
    keys ??= Promise.all(secrets.map(importSecret));
    const data = new TextEncoder().encode(`dpop-nonce ${text}`);
    const signatures = (await keys).map((key) => crypto.subtle.sign('HMAC', key, data));
    return (await Promise.all(signatures)).map((bytes) => `${text}.${base64url.encode(new Uint8Array(bytes))}`);
  }

  return {
    async issue(): Promise<string> {
      const [nonce] = await sign(now().toString(36));
      return String(nonce);
    },
    /** Resolves to when this server gave out the nonce, or to undefined if it did not. Does NOT check its age. */
    async issuedAtMs(nonce: unknown): Promise<number | undefined> {
      if (typeof nonce !== 'string') return undefined;
      const time = nonce.slice(0, nonce.indexOf('.'));
      // Clients learn every valid nonce anyway, so the time of the comparison reveals nothing.
      return (await sign(time)).includes(nonce) ? Number.parseInt(time, 36) : undefined;
    },
  };
}

const importSecret = (secret: string) =>
  // Stryker disable next-line BooleanLiteral: nothing exports the key
  crypto.subtle.importKey('raw', new TextEncoder().encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
