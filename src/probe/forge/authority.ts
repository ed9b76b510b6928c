import { Buffer } from 'node:buffer';
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { bits, der, identified, identifier, integer, octets, sequence, set, signatures, text, time } from './der.ts';

// Here is an authority for one run, and the certificate of a server on this machine (RFC 5280 §4.2).

const extension = (hex: string, value: Buffer, isCritical = false) =>
  identified(hex, ...(isCritical ? [der(1, Buffer.of(255))] : []), der(octets, value));
const hashOf = (key: KeyObject) =>
  createHash('sha1')
    .update(createPublicKey(key).export({ type: 'spki', format: 'der' }))
    .digest();
const nameOf = (name: string) => der(sequence, der(set, identified('550403', der(text, Buffer.from(name)))));
const day = 86_400_000;
/** A time as UTCTime has it: without its century. */
const utc = (ms: number) => der(time, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replace(/[-T:]/g, '')}Z`));

interface Certified {
  readonly name: string;
  readonly key: KeyObject;
  readonly by: { readonly name: string; readonly key: KeyObject };
  readonly serial: number;
  readonly extensions: readonly Buffer[];
}

function certify({ name, key, by, serial, extensions }: Certified): string {
  const algorithm = signatures.ec ?? Buffer.of();
  const identifiers = [
    extension('551d0e', der(octets, hashOf(key))),
    extension('551d23', der(sequence, der(0x80, hashOf(by.key)))),
  ];
  const signed = der(
    sequence,
    ...[der(0xa0, der(integer, Buffer.of(2))), der(integer, Buffer.of(serial)), algorithm, nameOf(by.name)],
    ...[der(sequence, utc(Date.now() - day), utc(Date.now() + 30 * day)), nameOf(name)],
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    der(0xa3, der(sequence, ...extensions, ...identifiers)),
  );
  const whole = der(sequence, signed, algorithm, der(bits, Buffer.of(0), sign('sha256', signed, by.key)));
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

/** Returns the certificate of a new authority as PEM, and key and certificate of a server on this machine. */
export function createAuthority() {
  const make = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const by = { name: 'protected-api-probe', key: make() };
  const key = make();
  // keyCertSign and cRLSign; digitalSignature.
  const uses = (byte: number, unused: number) => extension('551d0f', der(bits, Buffer.of(unused, byte)), true);
  const isAuthority = extension('551d13', der(sequence, der(1, Buffer.of(255))), true);
  const names = der(sequence, der(0x82, Buffer.from('localhost')), der(0x87, Buffer.of(127, 0, 0, 1)));
  const purpose = der(sequence, der(identifier, Buffer.from('2b06010505070301', 'hex')));
  const server = { name: 'localhost', key, by, serial: 2 };
  return {
    certificate: certify({ ...by, by, serial: 1, extensions: [isAuthority, uses(6, 1)] }),
    server: {
      key: String(key.export({ type: 'pkcs8', format: 'pem' })),
      cert: certify({
        ...server,
        extensions: [uses(0x80, 7), extension('551d11', names), extension('551d25', purpose)],
      }),
    },
  };
}
