import { describe, expect, test } from 'bun:test';
import { createGuard, describeRejections, type GuardOptions } from '../../../src/auth/index.ts';
import { offline } from '../../support/checked.ts';

const API = 'https://api.example.test';
const PATH = '/.well-known/oauth-protected-resource';
const guardWith = (options: Partial<GuardOptions> = {}) => createGuard({ ...offline(), publicUrl: API, ...options });
/** Metadata are for pages of every origin. */
const jsonHeaders = { 'access-control-allow-origin': '*', 'content-type': 'application/json' };
const headersOf = { ...jsonHeaders, 'cache-control': 'max-age=60' };
const ask = (url = API + PATH, method = 'GET', guard = guardWith()) =>
  guard.metadata(new Request(url, { method, headers: { origin: 'https://other.example.test' } }), {
    scopes: ['a', 'b'],
  });

describe('createGuard().metadata()', () => {
  const dpopAlgorithms = ['ES256', 'EdDSA'];
  const required = 'dpop_bound_access_tokens_required';
  const proofs = { dpop_signing_alg_values_supported: ['ES256', 'EdDSA', 'Ed25519'] };
  for (const [name, options, path, more] of [
    ['DPoP off', {}, PATH, {}],
    ['a slash at the end', { publicUrl: `${API}/` }, PATH, {}],
    ['a port', { publicUrl: `${API}:8443` }, PATH, { resource: `${API}:8443` }],
    ['a path', { publicUrl: `${API}/a/b/` }, `${PATH}/a/b`, { resource: `${API}/a/b` }],
    ['a resource', { resource: `${API}/mcp` }, `${PATH}/mcp`, { resource: `${API}/mcp` }],
    ['capital letters and a default port', { publicUrl: 'https://API.Example.test:443' }, PATH, {}],
    ['dot segments', { resource: `${API}/a/../mcp` }, `${PATH}/mcp`, { resource: `${API}/mcp` }],
    ['octets that need no encoding', { resource: `${API}/%6dcp%2f` }, `${PATH}/mcp%2F`, { resource: `${API}/mcp%2F` }],
    ['a slash as its path', { resource: `${API}/` }, PATH, { resource: `${API}/` }],
    ['a resource in capitals', { resource: 'https://API.example.test' }, PATH, {}],
    ['a prefix', { scopePrefix: 'api/' }, PATH, { scopes_supported: ['api/a', 'api/b'] }],
    ['a prefix of requests', { scopePrefix: 'a', scopeRequestPrefix: 'r' }, PATH, { scopes_supported: ['ra', 'rb'] }],
    ['certificates', { clientCertificate() {} }, PATH, { tls_client_certificate_bound_access_tokens: true }],
    ['DPoP on', { dpop: 'on', dpopAlgorithms }, PATH, { ...proofs, [required]: false }],
    ['DPoP required', { dpop: 'required', dpopAlgorithms }, PATH, { ...proofs, [required]: true }],
  ] as const)
    test(`returns the document for its own path, at any host, with ${name}`, async () => {
      const guard = guardWith(options as Partial<GuardOptions>);
      for (const url of [API + path, `http://internal:8080${path}?query`]) {
        const response = ask(url, 'GET', guard);
        expect(response?.status).toBe(200);
        expect(Object.fromEntries(response?.headers ?? [])).toEqual(headersOf);
        expect(await response?.json()).toEqual({
          resource: API,
          authorization_servers: [offline().issuer],
          scopes_supported: ['a', 'b'],
          bearer_methods_supported: ['header'],
          ...more,
        });
      }
      const challenge = describeRejections(guard)[0]?.headers['www-authenticate'];
      const { origin } = new URL('resource' in more ? more.resource : API);
      expect(challenge).toContain(`resource_metadata="${origin}${path}"`);
    });

  test('returns a preflight, a HEAD without a body and a 405 that formatRejection can change, to every origin', async () => {
    const preflight = { 'access-control-allow-headers': 'Content-Type, Authorization, *' };
    const notAllowed = '{"error":"invalid_request","error_description":"Method not allowed for this path"}';
    const length = String((await ask()?.text())?.length);
    for (const [method, status, want, body] of [
      ['OPTIONS', 204, { ...preflight, 'access-control-allow-origin': '*' }, ''],
      ['HEAD', 200, { ...headersOf, 'content-length': length }, ''],
      ['POST', 405, { allow: 'GET, HEAD, OPTIONS', ...jsonHeaders }, notAllowed],
    ] as const) {
      const response = ask(undefined, method);
      expect(response?.status).toBe(status);
      expect(Object.fromEntries(response?.headers ?? [])).toMatchObject(want);
      expect(await response?.text()).toEqual(body as string);
    }
    const formatRejection = ({ reason }: { readonly reason: string }) => ({ body: { reason } });
    expect(await ask(undefined, 'PUT', guardWith({ formatRejection }))?.json()).toEqual({
      reason: 'method_not_allowed',
    });
  });

  test('returns undefined for every other path, and without publicUrl', () => {
    for (const path of ['/', `${PATH}/`, `${PATH}/other`, `/x${PATH}`, PATH.toUpperCase(), '/?/.well-known'])
      expect(ask(API + path)).toBeUndefined();
    expect(ask(undefined, 'GET', guardWith({ publicUrl: undefined }))).toBeUndefined();
  });

  test('compares the query of a resource that has one, so that resources can share a path', async () => {
    const guards = ['a', 'b'].map((tenant) => guardWith({ resource: `${API}/mcp?tenant=${tenant}` }));
    const [ofA, ofB] = guards.map(({ metadata }) => metadata(new Request(`${API}${PATH}/mcp?tenant=b`)));
    expect([ofA, await ofB?.json()]).toEqual([undefined, expect.objectContaining({ resource: `${API}/mcp?tenant=b` })]);
    const [first] = guards;
    expect(first?.metadata(new Request(`${API}${PATH}/mcp`))).toBeUndefined();
    expect(describeRejections(first ?? guardWith())[0]?.headers['www-authenticate']).toContain(
      `resource_metadata="${API}${PATH}/mcp?tenant=a"`,
    );
  });

  test('has the members that clients show, and throws a TypeError for any other', async () => {
    const { metadata } = guardWith();
    const request = new Request(API + PATH);
    const shown = { resourceName: 'Reports', resourceDocumentation: `${API}/docs` };
    const terms = { resourcePolicyUri: `${API}/policy`, resourceTosUri: `${API}/terms` };
    expect(await metadata(request, { ...shown, ...terms })?.json()).toMatchObject({
      resource_name: 'Reports',
      resource_documentation: `${API}/docs`,
      resource_policy_uri: `${API}/policy`,
      resource_tos_uri: `${API}/terms`,
    });
    // Beyond ASCII, a character has several bytes.
    const named = { resourceName: 'Berichte für 東京 🗼' };
    const [get, head] = ['GET', 'HEAD'].map((method) => metadata(new Request(request, { method }), named));
    expect(head?.headers.get('content-length')).toBe(String((await get?.arrayBuffer())?.byteLength));
    for (const wrong of [{ resourceName: 7 }, { resourceName: ' ' }, { logo: API }])
      expect(() => metadata(request, wrong as object)).toThrow('Cannot write metadata: ');
  });

  test('leaves out scopes if there are none, and throws a TypeError for a value that is not a scope or not a request', async () => {
    const { metadata } = guardWith();
    const request = new Request(API + PATH);
    expect(await metadata(request)?.json()).not.toHaveProperty('scopes_supported');
    expect(() => metadata(request, { scopes: ['a b'] })).toThrow(TypeError);
    expect(() => metadata({} as Request)).toThrow('Cannot check a request: ');
  });
});
