import { Buffer } from 'node:buffer';
import { createPublicKey, type KeyObject, sign } from 'node:crypto';

// Here an attacker certifies their own key: a certificate that any parser reads (RFC 5280 §4.1), and nobody has issued.

const [sequence, set, integer, bits, identifier, text, time, version] = [0x30, 0x31, 2, 3, 6, 0x0c, 0x17, 0xa0];

/** Returns the DER of a value. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const long = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...long]), body]);
}
const identified = (hex: string, ...more: readonly Uint8Array[]) =>
  der(sequence, der(identifier, Buffer.from(hex, 'hex')), ...more);

/** How a certificate names its signature (RFC 8017, RFC 5758, RFC 8410). */
const signatures: Readonly<Record<string, Buffer>> = {
  rsa: identified('2a864886f70d01010b', Buffer.of(5, 0)),
  ec: identified('2a8648ce3d040302'),
  ed25519: identified('2b6570'),
};

/** Returns the certificate of a key by itself, as DER. */
export function certificateOf(key: KeyObject): Buffer {
  const type = key.asymmetricKeyType ?? '';
  const algorithm = signatures[type] ?? Buffer.of();
  const name = der(sequence, der(set, identified('550403', der(text, Buffer.from('attacker')))));
  const validity = der(sequence, ...['250101000000Z', '491231235959Z'].map((each) => der(time, Buffer.from(each))));
  const signed = der(
    sequence,
    ...[der(version, der(integer, Buffer.of(2))), der(integer, Buffer.of(1)), algorithm, name, validity, name],
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
  );
  const signature = sign(type === 'ed25519' ? null : 'sha256', signed, key);
  return der(sequence, signed, algorithm, der(bits, Buffer.of(0), signature));
}
