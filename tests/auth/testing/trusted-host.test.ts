import { expect, test } from 'bun:test';
import { isTrustedHost } from '../../../src/auth/testing/trusted-host.ts';

const PUBLIC_URL = 'https://gateway.example.test:8443/base';

for (const [host, isTrusted] of [
  ['localhost', true],
  ['localhost:3010', true],
  ['LOCALHOST', true],
  ['127.0.0.1:80', true],
  ['127.255.0.9', true],
  ['[::1]:3010', true],
  ['gateway.example.test:8443', true],
  ['gateway.example.test', false],
  ['evil-gateway.example.test:8443', false],
  ['evil.gateway.example.test:8443', false],
  ['gateway.example.test:8443.evil.test', false],
  ['evil-localhost', false],
  ['evil.localhost', false],
  ['localhost.evil.test', false],
  ['127.0.0.1.evil.test', false],
  ['[::2]', false],
  ['10.0.0.1', false],
  ['localhost:x', false],
  ['user@localhost', false],
  ['localhost/x', false],
  ['', false],
] as const) {
  test(`isTrustedHost() ${isTrusted ? 'trusts' : 'does not trust'} the Host ${JSON.stringify(host)}`, () => {
    expect(isTrustedHost(new Request('http://localhost/', { headers: { host } }), PUBLIC_URL)).toBe(isTrusted);
  });
}

test('isTrustedHost() trusts the host of the issuer in capitals and with its default port', () => {
  const request = new Request('http://localhost/', { headers: { host: 'API.example.test:443' } });
  expect(isTrustedHost(request, 'https://api.example.test/v1')).toBe(true);
});

test('isTrustedHost() judges the address of a request without a Host', () => {
  expect(isTrustedHost(new Request('http://127.0.0.1:3010/'), PUBLIC_URL)).toBe(true);
  expect(isTrustedHost(new Request('http://evil.test/'), PUBLIC_URL)).toBe(false);
});
