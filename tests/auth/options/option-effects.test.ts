import { expect, test } from 'bun:test';
import { z } from 'zod';
import type { Fetch, GuardOptions, KeySetEvent, Requirements } from '../../../src/auth/index.ts';
import { optionRules } from '../../../src/auth/options/rules.ts';
import { certificate } from '../../support/certificates.ts';
import { createChecker, ISSUER, tokenOf } from '../../support/checked.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, nowSeconds, signingKeys } from '../../support/mint.ts';
import { bound, makeProof, proven } from '../../support/proof.ts';

type Options = Partial<GuardOptions>;
type See = (options: Options) => unknown;

const publicUrl = 'https://api.example.test';

/** The result for a token with these claims: `accepted`, or the reason for its rejection. */
const decide =
  (claims: Readonly<Record<string, unknown>> = {}, requirements: Requirements = {}): See =>
  async (options) =>
    (await createChecker(options)({ claims }, requirements)).reason ?? 'accepted';

const reject =
  (read: (response: Response) => unknown, requirements: Requirements = {}): See =>
  async (options) => {
    const { result } = await createChecker(options)(new Headers(), requirements);
    return result instanceof Response && read(result);
  };
const challengeOf = ({ headers }: Response) => headers.get('www-authenticate');
const challenge = reject(challengeOf);
const scopeChallenge = reject(challengeOf, { scope: 'a' });

const decideProof: See = async (options) => {
  const headers = proven(tokenOf({ claims: { cnf: bound } }), `${publicUrl}/messages`);
  return (await createChecker(options)(new Headers(headers))).reason ?? 'accepted';
};

const decideOldProof: See = async (options) => {
  const token = tokenOf({ claims: { cnf: bound } });
  const dpop = makeProof({ url: `${publicUrl}/messages`, token, nowSeconds: nowSeconds() - 120 });
  return (await createChecker(options)(new Headers({ authorization: `DPoP ${token}`, dpop }))).reason ?? 'accepted';
};

const create: See = (options) => {
  try {
    return createChecker(options) && 'created';
  } catch {
    return 'throws';
  }
};

const keys = async () => Response.json({ keys: signingKeys() });
const silent = { keys: undefined, onKeySetEvent() {} };
const fetching = (fetch: Fetch): Options => ({ ...silent, fetch });

/**
 * How often a guard fetched, and the result for a token with this `kid`, this long after a fetch that cannot be
 * repeated.
 */
const decideAfter =
  (seconds: number, kid = 'signing-key'): See =>
  async (options) => {
    const clock = createFrozenClock();
    let fetches = 0;
    const fetch = () => (fetches++ === 0 ? keys() : Promise.reject(new TypeError('down')));
    const decideNow = createChecker({ ...fetching(fetch), ...options }, { clock, random: () => 0 });
    for (const first of [{}, { kid }]) await decideNow({ header: first });
    clock.pause(seconds * 1000);
    const { reason = 'accepted' } = await decideNow({ header: { kid } });
    return `${fetches} ${reason}`;
  };

const wait: See = async (options) => {
  const clock = createFrozenClock();
  let isAborted: boolean | undefined;
  const hang: Fetch = (_, { signal } = {}) =>
    new Promise(() => signal?.addEventListener('abort', () => (isAborted = true)));
  void createChecker({ ...fetching(hang), ...options }, { clock })({});
  await new Promise((done) => setImmediate(done));
  clock.advance(1000);
  return isAborted ? 'gives up' : 'waits';
};

const fetchFrom: See = async (options) => {
  let source: string | undefined;
  const fetch: Fetch = (from) => {
    source = from;
    return keys();
  };
  await createChecker({ ...fetching(fetch), ...options })({});
  return source;
};

const readMetadata =
  (member: string): See =>
  async (options) => {
    const request = new Request(`${publicUrl}/.well-known/oauth-protected-resource/mcp`);
    const found = createChecker(options).core.metadata(request, () => ({ scopes: [], members: {} }));
    return found ? JSON.parse(String(found.body))[member] : 'none';
  };
const resource = `${publicUrl}/mcp`;
const cached: See = async (options) => {
  const check = createChecker(options);
  await check({});
  return check.core.state().cacheEntries;
};
const events: string[] = [];
const reported: See = async (options) => {
  await decideAfter(0)(options);
  return events.length;
};
const outlived: unknown[] = [];
const awaited: See = async (options) => {
  await decideAfter(600)(options);
  return outlived.length;
};
const opaque: See = async (options) => (await createChecker(options)('opaque')).reason;
const offer: See = async (options) => {
  const headers = { upgrade: 'websocket', 'sec-websocket-protocol': `bearer, ${tokenOf()}` };
  return (await createChecker(options)(new Headers(headers))).reason ?? 'accepted';
};
const causes: string[] = [];
const storeCauses: See = async (options) => {
  await decideProof({ ...options, replayStore: { markUsed: called } });
  return causes;
};
const called = () => {
  throw new Error('called');
};

const { der, thumbprint } = certificate('a');
const other = 'https://other.example.test/';
const dpop = { dpop: 'on', publicUrl } as const;

/** The result without each option and with it. The value of the option and other options follow. */
const effects: Readonly<
  Record<keyof GuardOptions, readonly [See, before: unknown, after: unknown, unknown, Options?]>
> = {
  issuer: [decide({ iss: other }), 'issuer_mismatch', 'accepted', other],
  audience: [decide({ aud: other }), 'audience_mismatch', 'accepted', other],
  jwksUri: [fetchFrom, `${ISSUER}.well-known/jwks.json`, other, other],
  jwksAllowHttp: [create, 'throws', 'created', true, { ...silent, issuer: 'http://sso.internal/' }],
  algorithms: [decide(), 'accepted', 'algorithm_unsupported', ['ES256'], fetching(keys)],
  tokenType: [decide(), 'accepted', 'type_unsupported', 'at+jwt'],
  scopeClaim: [decide({ scp: 'a' }, { scope: 'a' }), 'scope_insufficient', 'accepted', ['scp']],
  scopePrefix: [decide({ scope: 'p:a' }, { scope: 'a' }), 'scope_insufficient', 'accepted', 'p:'],
  scopeRequestPrefix: [scopeChallenge, 'Bearer scope="a"', 'Bearer scope="r:a"', 'r:'],
  scopeImplies: [decide({ scope: 'b' }, { scope: 'a' }), 'scope_insufficient', 'accepted', { b: ['a'] }],
  audienceClaim: [decide({ aud: undefined, azp: AUDIENCE }), 'audience_mismatch', 'accepted', 'azp'],
  requiredClaims: [decide(), 'accepted', 'required_claim_mismatch', { tid: 't' }],
  dpop: [decide(), 'accepted', 'dpop_required', 'required', { publicUrl }],
  dpopAlgorithms: [decideProof, 'accepted', 'proof_algorithm', ['ES384'], dpop],
  dpopProofMaxAgeSeconds: [decideOldProof, 'proof_time', 'accepted', 300, dpop],
  dpopNonceSecret: [decideProof, 'accepted', 'proof_nonce_missing', 's'.repeat(32), dpop],
  publicUrl: [challenge, 'Bearer', expect.stringContaining(`resource_metadata="${publicUrl}`), publicUrl],
  jwksMaxAgeSeconds: [decideAfter(40), '1 accepted', '2 accepted', 10],
  jwksMaxStaleSeconds: [decideAfter(700), '2 accepted', '2 keys_unavailable', 0],
  jwksCooldownSeconds: [decideAfter(2, 'new'), '2 keys_unavailable', '3 keys_unavailable', 1],
  jwksTimeoutSeconds: [wait, 'waits', 'gives up', 1],
  clockToleranceSeconds: [decide({ exp: nowSeconds() - 60 }), 'token_expired', 'accepted', 300],
  maxTokenAgeSeconds: [decide({ iat: nowSeconds() - 60 }), 'accepted', 'token_too_old', 30],
  tokenCacheSize: [cached, 1, 0, 0],
  resource: [readMetadata('resource'), 'none', resource, resource, { publicUrl }],
  authorizationServers: [readMetadata('authorization_servers'), [ISSUER], [other], [other], { publicUrl, resource }],
  keys: [decide(), 'accepted', 'key_unknown', { keys: [publish(rsaKey('stranger'), 'other')] }],
  claims: [decide(), 'accepted', 'claims_unexpected', z.object({ tid: z.string() })],
  replayStore: [decideProof, 'accepted', 'proof_replayed', { markUsed: () => false }, dpop],
  clientCertificate: [decide({ cnf: { 'x5t#S256': thumbprint } }), 'token_bound', 'accepted', () => der],
  requireScope: [decide({ scope: '' }), 'accepted', 'scope_insufficient', true],
  webSocketProtocol: [offer, 'credentials_missing', 'accepted', 'bearer'],
  introspect: [opaque, 'token_opaque', 'token_inactive', () => ({ active: false })],
  isRevoked: [decide(), 'accepted', 'token_revoked', () => true],
  onAccepted: [decide(), 'accepted', 'called', called],
  onRejected: [decide({ exp: 0 }), 'token_expired', 'called', called],
  onKeySetEvent: [reported, 0, 1, ({ type }: KeySetEvent) => events.push(type)],
  onReplayStoreEvent: [storeCauses, [], ['Error'], ({ cause }: { cause: string }) => causes.push(cause), dpop],
  formatRejection: [reject(({ status }) => status), 401, 418, () => ({ status: 418 })],
  errorHeaders: [reject(({ headers }) => headers.get('x-a')), null, 'b', { 'x-a': 'b' }],
  waitUntil: [awaited, 0, 1, (promise: Promise<unknown>) => outlived.push(promise)],
  fetch: [decide(), 'keys_unavailable', 'accepted', keys, { ...silent, jwksUri: 'http://127.0.0.1:1/' }],
};

test.each(Object.keys(optionRules) as (keyof GuardOptions)[])(
  'the option %s changes what a guard does',
  async (name) => {
    const [see, before, after, value, beside] = effects[name];
    const seen = (options: Options) => Promise.resolve(see(options)).catch((error: Error) => error.message);
    expect(await seen({ ...beside })).toEqual(before);
    expect(await seen({ ...beside, [name]: value })).toEqual(after);
  },
);
