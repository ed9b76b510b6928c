import { describe, expect, test } from 'bun:test';
import { createGuard } from '../../../src/auth/index.ts';
import { createRequest } from '../../../src/auth/keys/fetch/request.ts';
import packageJson from '../../../src/auth/package.json' with { type: 'json' };
import { serve } from '../../support/fixture.ts';
import { AUDIENCE, bearer, mintToken, signingKeys } from '../../support/mint.ts';

const url = 'https://issuer.example.test/keys';
const initOf = (kind: 'key set' | 'metadata', from = url) =>
  createRequest(from, kind, new AbortController().signal).init;
const headersOf = (kind: 'key set' | 'metadata') => new Headers(initOf(kind).headers);

describe('createRequest()', () => {
  test('asks for a key set by both of its media types, and for metadata by that of JSON, uncompressed', () => {
    expect(headersOf('key set').get('accept')).toBe('application/json, application/jwk-set+json');
    expect(headersOf('metadata').get('accept')).toBe('application/json');
    expect(headersOf('metadata').get('accept-encoding')).toBe('identity');
  });

  test('follows no redirect, decompresses nothing, and bypasses a proxy only for loopback', () => {
    const asked = { redirect: 'manual', decompress: false, keepalive: false };
    expect(initOf('key set')).toMatchObject(asked);
    expect(initOf('key set')).not.toHaveProperty('proxy');
    expect(initOf('key set', 'http://127.0.0.1/')).toMatchObject({ ...asked, proxy: false });
  });

  test('names the package and its version, but not in a browser, where that would need a preflight', () => {
    expect(headersOf('key set').get('user-agent')).toBe(`protected-api/${packageJson.version}`);
    const { navigator } = globalThis;
    const browser = { userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0' };
    try {
      Object.defineProperty(globalThis, 'navigator', { value: browser, configurable: true });
      expect(headersOf('key set').has('user-agent')).toBeFalse();
    } finally {
      Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true });
    }
  });
});

/** How real servers refuse, and what they publish to a request that they take. */
const servers: Readonly<Record<string, (headers: Headers) => number>> = {
  'the API server of Kubernetes, which has its own media type only': (headers) =>
    headers.get('accept')?.includes('application/jwk-set+json') ? 200 : 406,
  'a server that has JSON only': (headers) => (headers.get('accept')?.includes('application/json') ? 200 : 406),
  'a firewall that wants to know who asks': (headers) =>
    /^[\w-]+\/\d/.test(headers.get('user-agent') ?? '') ? 200 : 403,
};

const published = (status: number) =>
  new Response(JSON.stringify({ keys: signingKeys() }), {
    status,
    headers: { 'content-type': 'application/jwk-set+json' },
  });

test.each(Object.entries(servers))('a guard gets keys from %s', async (_, statusFor) => {
  await using server = serve(({ headers }) => published(statusFor(headers)));
  const issuer = server.url.href;
  const request = new Request('https://api.example.test/', { headers: bearer(mintToken(issuer)) });
  expect(await createGuard({ issuer, audience: AUDIENCE }).check(request)).toMatchObject({ claims: { iss: issuer } });
});
