import { expect, test } from 'bun:test';
import { isTrustedHost } from '../../../src/auth/testing/trusted-host.ts';

const PUBLIC_URL = 'https://gateway.example.test:8443/base';
const trusted = ['localhost', 'localhost:3010', 'LOCALHOST', '127.0.0.1:80', '127.255.0.9', '[::1]:3010'];
const others = [
  ...['gateway.example.test', 'evil-gateway.example.test:8443', 'evil.gateway.example.test:8443'],
  ...['gateway.example.test:8443.evil.test', 'evil-localhost', 'evil.localhost', 'localhost.evil.test'],
  ...['127.0.0.1.evil.test', '10.0.0.1', '[::2]', 'user@localhost', 'localhost/x', 'localhost:x', ''],
];

for (const [host, isTrusted, issuer] of [
  ...trusted.map((host) => [host, true, PUBLIC_URL] as const),
  ['gateway.example.test:8443', true, PUBLIC_URL],
  ['API.example.test:443', true, 'https://api.example.test/v1'],
  ...others.map((host) => [host, false, PUBLIC_URL] as const),
] as const)
  test(`isTrustedHost() ${isTrusted ? 'trusts' : 'does not trust'} the Host ${JSON.stringify(host)} of ${issuer}`, () => {
    expect(isTrustedHost(new Request('http://localhost/', { headers: { host } }), issuer)).toBe(isTrusted);
  });

test('isTrustedHost() judges the address of a request without a Host', () => {
  expect(isTrustedHost(new Request('http://127.0.0.1:3010/'), PUBLIC_URL)).toBe(true);
  expect(isTrustedHost(new Request('http://evil.test/'), PUBLIC_URL)).toBe(false);
});
