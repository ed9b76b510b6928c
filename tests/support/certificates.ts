import { createHash } from 'node:crypto';
import testKeys from './test-keys.json' with { type: 'json' };

const a = Buffer.from(testKeys['certificate a'], 'base64');
/**
 * `a` is self-signed by the RSA test key `stranger`, and `b` is another for the same key: only its signature differs.
 */
const certificates = { a, b: Buffer.from(a.with(-1, 0)) };

export function certificate(name: keyof typeof certificates) {
  const der = certificates[name];
  const base64 = der.toString('base64');
  const pem = `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
  const thumbprint = createHash('sha256').update(der).digest('base64url');
  /** As in the header `Client-Cert` (RFC 9440), and as nginx writes it. */
  return { der, pem, thumbprint, field: `:${base64}:`, escaped: encodeURIComponent(pem) };
}
