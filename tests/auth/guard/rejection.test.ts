import { expect, test } from 'bun:test';
import { createGuard, describeRejections } from '../../../src/auth/guard.ts';
import { type RefusalReason, refusals } from '../../../src/auth/refusals.ts';
import type { DpopMode } from '../../../src/auth/schemes.ts';
import { createTestIssuer } from '../../../src/auth/testing.ts';
import { bearer } from '../../support/mint.ts';

const issuer = await createTestIssuer();
const publicUrl = 'https://api.example.test';
const options = { ...issuer.options, publicUrl };
const metadata = 'resource_metadata="https://api.example.test/.well-known/oauth-protected-resource"';
const plain = createGuard(options);
const proven = createGuard({ ...options, dpop: 'required', dpopAlgorithms: ['ES256', 'PS256'] });
const unreachable = createGuard({
  issuer: 'https://issuer.example.test/',
  audience: issuer.options.audience,
  fetch: () => Promise.reject(new TypeError('unreachable')),
  onKeySetEvent() {},
});
const request = (headers: Record<string, string> = {}) => new Request(`${publicUrl}/reports`, { headers });

/** What clients see, spelt out: nothing generates these texts, so no command can update them. */
test.each([
  [
    'no credentials',
    () => plain.check(request(), { scope: 'read:reports' }),
    `401 Bearer scope="read:reports", ${metadata}`,
    '{"code":"authorization_header_missing","description":"Authorization header is expected"}',
  ],
  [
    'malformed credentials',
    () => plain.check(request({ authorization: 'Bearer one two' })),
    `401 Bearer error="invalid_request", error_description="Authorization header must be a scheme followed by one token", ${metadata}`,
    '{"code":"invalid_header","description":"Authorization header must be a scheme followed by one token"}',
  ],
  [
    'an expired token',
    async () => plain.check(request(bearer(await issuer.token({}, { expired: true })))),
    `401 Bearer error="invalid_token", error_description="Token is expired", ${metadata}`,
    '{"code":"token_expired","description":"Token is expired"}',
  ],
  [
    'a proof that is missing',
    async () => proven.check(request({ authorization: `DPoP ${await issuer.token({ cnf: { jkt: 'x' } })}` })),
    `401 DPoP error="invalid_dpop_proof", error_description="DPoP header is missing", algs="ES256 PS256", ${metadata}`,
    '{"code":"invalid_header","description":"DPoP header is missing"}',
  ],
  [
    'an old login',
    async () => plain.check(request(bearer(await issuer.token({ auth_time: 1 }))), { acr: 'high', maxAge: 60 }),
    `401 Bearer error="insufficient_user_authentication", error_description="This resource requires a stronger or more recent authentication of the user", acr_values="high", max_age="60", ${metadata}`,
    '{"code":"insufficient_user_authentication","description":"This resource requires a stronger or more recent authentication of the user"}',
  ],
  [
    'a token without the scope',
    async () => plain.check(request(bearer(await issuer.token())), { scope: 'read:reports' }),
    `403 Bearer error="insufficient_scope", error_description="Token does not have the scope that this resource requires", scope="read:reports", ${metadata}`,
    '{"code":"Unauthorized","description":"Token does not have the scope that this resource requires"}',
  ],
  [
    'no keys',
    async () => unreachable.check(request(bearer(await issuer.token({ iss: 'https://issuer.example.test/' })))),
    '503 null',
    '{"code":"key_set_unavailable","description":"Signing keys are currently unavailable"}',
  ],
])('createGuard() rejects %s with exactly these texts', async (_name, check, challenge, body) => {
  const result = await check();
  if (!(result instanceof Response)) throw new Error('The guard accepted the request');
  expect(`${result.status} ${result.headers.get('www-authenticate')}`).toBe(challenge);
  expect(await result.text()).toBe(body);
});

test('every refusal has a description of its own', () => {
  const descriptions = Object.values(refusals).map(({ description }) => description);
  expect(new Set(descriptions).size).toBe(descriptions.length);
  for (const description of descriptions) expect(description).toMatch(/^[A-Z]\w+ .+\w$/);
});

const dpop = /^DPoP .*algs=/;
const invalid = /^Bearer error="invalid_token"/;
const rows: readonly (readonly [mode: DpopMode, want: RegExp | undefined, ...reasons: RefusalReason[]])[] = [
  ['off', undefined, 'dpop_required', 'proof_replayed'],
  ['off', undefined, 'scope_insufficient', 'authentication_insufficient', 'access_denied'],
  ['off', invalid, 'token_bound'],
  ['off', /^Bearer resource_metadata=/, 'credentials_missing'],
  ['on', undefined, 'dpop_required'],
  ['on', invalid, 'token_bound'],
  ['on', /^Bearer .*, DPoP algs=/, 'scheme_unsupported'],
  ['on', dpop, 'proof_replayed'],
  ['required', undefined, 'token_bound', 'scheme_unsupported'],
  ['required', dpop, 'dpop_required', 'token_expired'],
];
for (const [mode, want, ...reasons] of rows)
  test(`with DPoP ${mode}, the documentation shows ${want ?? 'nothing'} for ${reasons}`, () => {
    const described = describeRejections({ ...options, dpop: mode });
    for (const reason of reasons) {
      const challenge = described.find((each) => each.reason === reason)?.headers['www-authenticate'];
      if (want) expect(challenge).toMatch(want);
      else expect(challenge).toBeUndefined();
    }
  });
