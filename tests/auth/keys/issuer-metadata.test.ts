import { describe, expect, test } from 'bun:test';
import { createGuard, type GuardOptions, issuerMetadata } from '../../../src/auth/index.ts';

const issuer = 'https://issuer.example.test/';
const ENDPOINT = 'https://login.example.test/token';

/** Returns a guard whose issuers publish these metadata, and the URLs that it fetched. */
function setUp(token_endpoint: unknown, options: Partial<GuardOptions> = {}, status = 200) {
  const fetched: string[] = [];
  const [named] = [options.issuer ?? issuer].flat();
  const fetch = async (url: string) => {
    fetched.push(url);
    return Response.json({ issuer: named, token_endpoint }, { status });
  };
  return { guard: createGuard({ issuer, audience: 'api', fetch, ...options }), fetched };
}

describe('issuerMetadata()', () => {
  const local = { issuer: 'http://localhost:1/' };
  const http = { jwksAllowHttp: true };
  for (const [name, named, tokenEndpoint, options] of [
    ['the token endpoint', ENDPOINT, ENDPOINT],
    ['the one of the first issuer', ENDPOINT, ENDPOINT, { issuer: [issuer, 'https://other.example.test/'] }],
    ['one on the machine of an issuer on this machine', 'http://localhost:2/t', 'http://localhost:2/t', local],
    ['one over http where that is allowed', 'http://sso/t', 'http://sso/t', http],
    ['nothing if there is none', undefined, undefined],
    ['undefined instead of an invalid URL', 'token', undefined],
    ['nothing instead of one over http', 'http://sso/t', undefined],
    ['nothing instead of one on this machine', 'http://localhost/t', undefined, http],
    ["nothing instead of one that would change the page's policy", 'https://*;img-src/t', undefined],
  ] satisfies [string, unknown, string | undefined, Partial<GuardOptions>?][])
    test(`resolves to ${name}`, async () =>
      expect(await issuerMetadata(setUp(named, options).guard)).toEqual({ tokenEndpoint }));

  test('fetches at each call, even during the cooldown, and names the URL and the failure of the first document', async () => {
    const { guard, fetched } = setUp(ENDPOINT, {}, 500);
    const paths = ['openid-configuration', 'oauth-authorization-server'].map((name) => `${issuer}.well-known/${name}`);
    for (const _ of [1, 2])
      await expect(issuerMetadata(guard)).rejects.toThrow(
        `Cannot use a document of the issuer: ${paths[0]} returned the status 500`,
      );
    expect(fetched).toEqual([...paths, ...paths]);
    await expect(issuerMetadata({} as never)).rejects.toThrow(TypeError);
  });
});
