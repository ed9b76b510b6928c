import { createHmac } from 'node:crypto';

export const dpopNonceSecret = 's'.repeat(32);

/** Returns a nonce as a guard with this secret gave it out so long ago. */
export function nonceOf(ageMs: number): string {
  const time = (Date.now() - ageMs).toString(36);
  return `${time}.${createHmac('sha256', dpopNonceSecret).update(`dpop-nonce ${time}`).digest('base64url')}`;
}
