import { describe, expect, test } from 'bun:test';
import { createHash, X509Certificate } from 'node:crypto';
import { clientCertificateFromHeader, rejectCertificate, unreadable } from '../../../src/auth/proof/certificate.ts';
import { certificate } from '../../support/certificates.ts';

const { der, pem, thumbprint, field, escaped } = certificate('a');
const other = certificate('b');

describe('clientCertificateFromHeader()', () => {
  const read = clientCertificateFromHeader('Client-Cert');
  const base64 = der.toString('base64');
  const cert = `Cert="${escaped}"`;
  const [by, subject] = ['By=spiffe://a/b;Hash=0a', 'Subject="CN=\\"a\\";Cert=b,c";URI=spiffe://a/c;DNS=a;DNS=b'];
  const rows: [name: string, values: readonly string[], want: 'read' | 'none' | 'unreadable'][] = [
    ['a byte sequence', [field], 'read'],
    ['a byte sequence without padding', [field.replace(/=*:$/, ':')], 'read'],
    ['the URL-encoded PEM of nginx', [escaped], 'read'],
    ['the PEM of AWS, which leaves some characters', [escaped.replaceAll('%2B', '+').replaceAll('%2F', '/')], 'read'],
    ['the PEM of Apache, with blanks as line ends', [pem.replaceAll('\n', ' ')], 'read'],
    // Azure App Service, Cloudflare, Caddy, HAProxy (`%[ssl_c_der,base64]`) and, URL-encoded, Traefik.
    ['base64 of DER', [base64], 'read'],
    ['URL-encoded base64 of DER', [encodeURIComponent(base64)], 'read'],
    // Envoy and Istio.
    ['an element with the certificate alone', [cert], 'read'],
    ['an element with other members', [`${by};${cert};${subject}`], 'read'],
    ['an element with names in lower case', [`hash=0a;cert="${escaped}"`], 'read'],
    ['no header', [], 'none'],
    ['an empty header', [''], 'none'],
    ['an element without the certificate', [`${by};${subject}`], 'unreadable'],
    ['an element with a certificate in a subject only', [`Subject=";Cert=\\"${escaped}\\""`], 'unreadable'],
    ['an element with two certificates', [`${cert};${cert}`], 'unreadable'],
    ['an element with a chain', [`Chain="${escaped}"`], 'unreadable'],
    ['two elements', [cert, cert], 'unreadable'],
    ['two elements in one header', [`${by};${cert},${cert}`], 'unreadable'],
    ['an element whose quote does not end', [`Cert="${escaped}`], 'unreadable'],
    ['the JSON of a proxy', [JSON.stringify({ pem })], 'unreadable'],
    ['an empty byte sequence', ['::'], 'unreadable'],
    ['two headers', [field, field], 'unreadable'],
    ['two PEM headers', [escaped, escaped], 'unreadable'],
    ['two headers with base64', [base64, base64], 'unreadable'],
    ['two certificates in one PEM', [escaped + escaped], 'unreadable'],
    ['a byte sequence with parameters', [`${field};a=1`], 'unreadable'],
    ['a byte sequence in base64url', [`:${der.toString('base64url')}:`], 'unreadable'],
    ['base64url of DER', [der.toString('base64url')], 'unreadable'],
    ['a PEM as a byte sequence', [`:${Buffer.from(pem).toString('base64')}:`], 'unreadable'],
    ['bytes that are not a certificate', [`:${Buffer.from('garbage').toString('base64')}:`], 'unreadable'],
    ['half a certificate', [`:${der.subarray(0, 100).toString('base64')}:`], 'unreadable'],
    ['a malformed URL encoding', [`${escaped}%zz`], 'unreadable'],
    ['the PEM of a key', [escaped.replaceAll('CERTIFICATE', 'PUBLIC%20KEY')], 'unreadable'],
    ['a word', ['none'], 'unreadable'],
  ];
  test.each(rows)('reads %s: %p', (_, values, want) => {
    const headers = new Headers(values.map((value): [string, string] => ['client-cert', value]));
    const found = read(new Request('http://localhost', { headers }));
    const isRead = found instanceof Uint8Array && Buffer.from(found).equals(der);
    expect(isRead ? 'read' : found === undefined ? 'none' : found.toString()).toBe(
      want === 'unreadable' ? unreadable.toString() : want,
    );
  });

  test('reads a header as long as servers take it in no time', () => {
    const value = `Cert="${'\\'.repeat(8192)}${'a='.repeat(8192)}`;
    const before = process.cpuUsage();
    read({ method: 'GET', url: '', headers: { get: () => value } });
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });
});

describe('rejectCertificate()', () => {
  const garbage = Buffer.from('garbage');
  const thumbprintOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64url');
  const missing = 'certificate_missing';
  const wrong = 'certificate_unreadable';
  const mismatch = 'certificate_mismatch';
  const rows: [name: string, value: unknown, thumbprint: unknown, want: string | undefined][] = [
    ['DER', der, thumbprint, undefined],
    ['DER in an ArrayBuffer', new Uint8Array(der).buffer, thumbprint, undefined],
    ['PEM', pem, thumbprint, undefined],
    ['PEM with other line ends', pem.replaceAll('\n', '\r\n'), thumbprint, undefined],
    ['an X509Certificate', new X509Certificate(der), thumbprint, undefined],
    ['what getPeerCertificate() returns', { subject: {}, raw: der }, thumbprint, undefined],
    ['what it returns without a certificate', Object.freeze({}), thumbprint, missing],
    ['the same, without a prototype', Object.create(null), thumbprint, missing],
    ['none', undefined, thumbprint, missing],
    ['null', null, thumbprint, missing],
    ['an empty text', '', thumbprint, missing],
    ['a promise of the certificate', Promise.resolve(der), thumbprint, wrong],
    ['an object with other members', { der }, thumbprint, wrong],
    ['false', false, thumbprint, wrong],
    [
      'an object that throws when it is read',
      new Proxy({}, { getPrototypeOf: () => JSON.parse('') }),
      thumbprint,
      wrong,
    ],
    ...Object.entries({
      'bytes that are none': garbage,
      'a certificate and a byte': Buffer.concat([der, Buffer.of(0)]),
      'two certificates': Buffer.concat([der, der]),
      'all but a byte': der.subarray(0, -1),
      'an element of indefinite length': der.with(1, 0x80),
      'another element than a sequence': der.with(0, 0x31),
    }).map(([name, bytes]): (typeof rows)[number] => [name, bytes, thumbprintOf(bytes), wrong]),
    ['PEM and more', `${pem}more`, thumbprint, wrong],
    ['another one', other.der, thumbprint, mismatch],
    ['a thumbprint with padding', der, `${thumbprint}=`, mismatch],
    ['a thumbprint in hexadecimal', der, createHash('sha256').update(der).digest('hex'), mismatch],
    ['a thumbprint that is not a string', der, [thumbprint], mismatch],
    ['an empty thumbprint', der, '', mismatch],
  ];
  test.each(rows)('checks %s', async (_, value, bound, want) =>
    expect((await rejectCertificate(value, bound))?.reason).toBe(want as never),
  );

  test('returns certificate_unreadable for a promise that rejects, and catches the rejection', async () =>
    expect((await rejectCertificate(Promise.reject(new Error('no')), thumbprint))?.reason).toBe(wrong));
});
