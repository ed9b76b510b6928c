import { Buffer } from 'node:buffer';
import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { bits, der, identified, integer, sequence, set, signatures, text, time } from './der.ts';

// Here an attacker certifies their own key: a certificate that any parser reads (RFC 5280 §4.1), and nobody has issued.

/** Returns the certificate of a key by itself, as DER. */
export function certificateOf(key: KeyObject): Buffer {
  const type = key.asymmetricKeyType ?? '';
  const algorithm = signatures[type] ?? Buffer.of();
  const name = der(sequence, der(set, identified('550403', der(text, Buffer.from('attacker')))));
  const validity = der(sequence, ...['250101000000Z', '491231235959Z'].map((each) => der(time, Buffer.from(each))));
  const signed = der(
    sequence,
    ...[der(0xa0, der(integer, Buffer.of(2))), der(integer, Buffer.of(1)), algorithm, name, validity, name],
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
  );
  const signature = sign(type === 'ed25519' ? null : 'sha256', signed, key);
  return der(sequence, signed, algorithm, der(bits, Buffer.of(0), signature));
}
