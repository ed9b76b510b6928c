import { Buffer } from 'node:buffer';

// Here values are written in DER (X.690), as certificates have them.

export const [sequence, set, integer, bits, octets, identifier, text, time] = [0x30, 0x31, 2, 3, 4, 6, 0x0c, 0x17];

/** Returns the DER of a value. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const long = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...long]), body]);
}

/** Returns a sequence that begins with the identifier of an object. */
export const identified = (hex: string, ...more: readonly Uint8Array[]) =>
  der(sequence, der(identifier, Buffer.from(hex, 'hex')), ...more);

/** How a certificate names its signature (RFC 8017, RFC 5758, RFC 8410). */
export const signatures: Readonly<Record<string, Buffer>> = {
  rsa: identified('2a864886f70d01010b', Buffer.of(5, 0)),
  ec: identified('2a8648ce3d040302'),
  ed25519: identified('2b6570'),
};
