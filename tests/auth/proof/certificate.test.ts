import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { clientCertificateFromHeader, refuseCertificate } from '../../../src/auth/proof/certificate.ts';
import { certificate } from '../../support/certificates.ts';

const { der, pem, thumbprint, field, escaped } = certificate('a');
const other = certificate('b');

describe('clientCertificateFromHeader()', () => {
  const read = clientCertificateFromHeader('Client-Cert');
  const rows: [name: string, values: readonly string[], want: Buffer | undefined][] = [
    ['a byte sequence', [field], der],
    ['a byte sequence without padding', [field.replace(/=*:$/, ':')], der],
    ['the URL-encoded PEM of nginx', [escaped], der],
    ['no header', [], undefined],
    ['an empty header', [''], undefined],
    ['an empty byte sequence', ['::'], undefined],
    ['two headers', [field, field], undefined],
    ['two PEM headers', [escaped, escaped], undefined],
    ['two certificates in one PEM', [escaped + escaped], undefined],
    ['a byte sequence with parameters', [`${field};a=1`], undefined],
    ['a byte sequence without colons', [field.replaceAll(':', '')], undefined],
    ['a byte sequence in base64url', [`:${der.toString('base64url')}:`], undefined],
    ['a PEM as a byte sequence', [`:${Buffer.from(pem).toString('base64')}:`], undefined],
    ['bytes that are not a certificate', [`:${Buffer.from('garbage').toString('base64')}:`], undefined],
    ['half a certificate', [`:${der.subarray(0, 100).toString('base64')}:`], undefined],
    ['a malformed URL encoding', [`${escaped}%zz`], undefined],
    ['the PEM of a key', [escaped.replaceAll('CERTIFICATE', 'PUBLIC%20KEY')], undefined],
  ];
  test.each(rows)('reads %s as the certificate or none', (_, values, want) => {
    const headers = new Headers(values.map((value): [string, string] => ['client-cert', value]));
    const found = read(new Request('http://localhost', { headers }));
    expect(found && Buffer.from(found).toString('base64')).toBe(want?.toString('base64'));
  });
});

describe('refuseCertificate()', () => {
  const garbage = Buffer.from('garbage');
  const thumbprintOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64url');
  const missing = 'certificate_missing';
  const mismatch = 'certificate_mismatch';
  const rows: [name: string, value: unknown, thumbprint: unknown, want: string | undefined][] = [
    ['DER', der, thumbprint, undefined],
    ['DER in an ArrayBuffer', new Uint8Array(der).buffer, thumbprint, undefined],
    ['PEM', pem, thumbprint, undefined],
    ['PEM with other line ends', pem.replaceAll('\n', '\r\n'), thumbprint, undefined],
    ['none', undefined, thumbprint, missing],
    ['null', null, thumbprint, missing],
    ['an empty text', '', thumbprint, missing],
    ['a promise of the certificate', Promise.resolve(der), thumbprint, missing],
    [
      'an object that throws when it is read',
      new Proxy({}, { getPrototypeOf: () => JSON.parse('') }),
      thumbprint,
      missing,
    ],
    ...Object.entries({
      'bytes that are none': garbage,
      'a certificate and a byte': Buffer.concat([der, Buffer.of(0)]),
      'two certificates': Buffer.concat([der, der]),
      'all but a byte': der.subarray(0, -1),
      'an element of indefinite length': der.with(1, 0x80),
      'another element than a sequence': der.with(0, 0x31),
    }).map(([name, bytes]): (typeof rows)[number] => [name, bytes, thumbprintOf(bytes), missing]),
    ['PEM and more', `${pem}more`, thumbprint, missing],
    ['another one', other.der, thumbprint, mismatch],
    ['a thumbprint with padding', der, `${thumbprint}=`, mismatch],
    ['a thumbprint in hexadecimal', der, createHash('sha256').update(der).digest('hex'), mismatch],
    ['a thumbprint that is not a string', der, [thumbprint], mismatch],
    ['an empty thumbprint', der, '', mismatch],
  ];
  test.each(rows)('checks %s', async (_, value, bound, want) =>
    expect((await refuseCertificate(value, bound))?.reason).toBe(want as never),
  );

  test('returns certificate_missing for a promise that rejects, and catches the rejection', async () =>
    expect((await refuseCertificate(Promise.reject(new Error('no')), thumbprint))?.reason).toBe(missing));
});
