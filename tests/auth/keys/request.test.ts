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

  /** What is asked for, and how caches are told to ask the issuer. */
  const seen = (kind: 'key set' | 'metadata') => {
    const headers = headersOf(kind);
    return [headers.get('user-agent'), headers.get('cache-control'), initOf(kind).cache];
  };
  const named = `protected-api/${packageJson.version}`;
  const browser = { userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0' };
  class UnknowingRequest extends Request {
    constructor(input: string, init?: RequestInit) {
      if (init?.cache) throw new TypeError('The field cache is not implemented');
      super(input, init);
    }
  }

  test.each<[name: string, globals: object, headers: (string | null | undefined)[]]>([
    ['names the package, and asks anew by a header', {}, [named, 'no-cache', undefined]],
    ['needs no preflight in a browser', { navigator: browser }, [null, null, 'no-cache']],
    [
      'has the header where a runtime throws at the member cache',
      { navigator: browser, Request: UnknowingRequest },
      [null, 'no-cache', undefined],
    ],
    ['has the header where there is no navigator', { navigator: undefined }, [named, 'no-cache', undefined]],
  ])('%s', (_, globals, headers) => {
    const before = Object.keys(globals).map((name) => [name, Reflect.get(globalThis, name)] as const);
    const define = (name: string, value: unknown) =>
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    try {
      for (const [name, value] of Object.entries(globals)) define(name, value);
      expect([seen('key set'), seen('metadata')]).toEqual([headers, headers]);
    } finally {
      for (const [name, value] of before) define(name, value);
    }
  });
});

/** How real servers reject, and what they publish to a request that they take. */
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
