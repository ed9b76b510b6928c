import * as base64url from 'jose/base64url';

/** Returns the SHA-256 hash in base64url. */
export async function sha256(value: string | Uint8Array): Promise<string> {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : new Uint8Array(value);
  return base64url.encode(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

/** The characters that the last group may end with, by its length: those without unused bits. */
const lastCharacters = [undefined, '', 'AQgw', 'AEIMQUYcgkosw048'];

/** Whether the text is canonical base64url (RFC 4648 §3.5): not empty, without padding, unused bits or white space. */
export function isCanonicalBase64Url(text: string): boolean {
  // One expression for all of it takes twice as long.
  const allowed = lastCharacters[text.length % 4];
  return /^[\w-]+$/.test(text) && (allowed === undefined || allowed.includes(text.slice(-1)));
}
