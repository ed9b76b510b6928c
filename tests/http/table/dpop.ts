import { expect, test } from 'bun:test';
import { expectProtected } from '../../support/expect-error.ts';
import { type Fixture, PRIVATE, SCOPED } from '../../support/fixture.ts';
import { bearer, SCOPE } from '../../support/mint.ts';
import { bound, makeProof, type ProofOverrides, proven } from '../../support/proof.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { probed } from './probed.ts';

export const PUBLIC_URL = 'https://api.example.test';
const algs = 'algs="ES256 ES384 RS256 PS256 EdDSA Ed25519"';
const metadata = `resource_metadata="${PUBLIC_URL}/.well-known/oauth-protected-resource"`;
const end = `${algs}, ${metadata}`;
export const bare = { Bearer: `Bearer ${metadata}`, DPoP: `DPoP ${end}` };

interface Change {
  /** The binding in the token; by default the thumbprint of the key that signs proofs. */
  readonly cnf?: object | undefined;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: (token: string) => Readonly<Record<string, string>>;
  readonly proof?: ProofOverrides;
  /** The DPoP header, instead of one valid proof. */
  readonly proofs?: (proof: string) => readonly string[];
}

/** The code of the response, or `accepted`; and what the challenge begins with, and perhaps ends with. */
type Row = readonly [name: string, change: Change, code: string, challenge?: string, end?: string];

const authorization = (value: string) => ({ authorization: value });
const dpop = (token: string) => authorization(`DPoP ${token}`);
const error = (name: string, scheme = 'DPoP') => `${scheme} error="${name}", error_description=`;
const invalidToken = ['invalid_header', error('invalid_token')] as const;
const invalidProof = ['invalid_header', error('invalid_dpop_proof')] as const;
const plain = { cnf: undefined, headers: bearer };
const none = { headers: () => ({}) };
const basic = { headers: () => authorization('Basic eDp5') };
const evil = 'evil.example.test';
const forEvil = {
  headers: (token: string) => ({ ...dpop(token), host: evil, 'x-forwarded-host': evil }),
  proof: { claims: { htu: `https://${evil}${PRIVATE}` } },
};
const unscoped = { path: SCOPED, claims: { scope: '' } };

/** The rules that HTTP adds to those for proofs and tokens, which are rows in tests/auth/proof. */
const always: readonly Row[] = [
  ['the scheme in lower case', { headers: (token) => authorization(`dpop ${token}`) }, 'accepted'],
  ['HEAD with a proof for HEAD', { method: 'HEAD', proof: { claims: { htm: 'HEAD' } } }, 'accepted'],
  ['a query that the proof does not name', { path: `${PRIVATE}?x=1` }, 'accepted'],
  ['a proof for the host that the request names', forEvil, ...invalidProof],
  ['an expired token without a proof', { claims: { exp: 1 }, proofs: () => [] }, 'token_expired', invalidToken[1]],
  ['the scheme alone', { headers: () => authorization('DPoP') }, 'invalid_header', error('invalid_request')],
  ['a token without the scope', unscoped, 'Unauthorized', error('insufficient_scope'), `scope="${SCOPE}", ${end}`],
];
const modes: Readonly<Record<'on' | 'required', readonly Row[]>> = {
  on: [
    ['a bound token as a plain one', { headers: bearer }, ...invalidToken],
    ['a plain token', plain, 'accepted'],
    ['an expired plain token', { ...plain, claims: { exp: 1 } }, 'token_expired', error('invalid_token', 'Bearer')],
    ['no credentials', none, 'authorization_header_missing', `${bare.Bearer}, ${bare.DPoP}`],
    ['another scheme', basic, 'invalid_header', `${bare.Bearer}, ${bare.DPoP}`],
  ],
  required: [
    ['a bound token as a plain one', { headers: bearer }, ...invalidToken],
    ['a plain token', plain, ...invalidToken],
    ['no credentials', none, 'authorization_header_missing', bare.DPoP],
    ['another scheme', basic, 'invalid_header', bare.DPoP],
  ],
};

/** Sends a valid request with the changes of a row. */
export async function sendProof({ service, mint }: Fixture, change: Change = {}): Promise<Response> {
  const { path = PRIVATE, method = 'GET', proofs = (proof) => [proof] } = change;
  const token = mint({ claims: { cnf: 'cnf' in change ? change.cnf : bound, ...change.claims } });
  const url = PUBLIC_URL + path.replace(/\?.*/, '');
  const headers = new Headers((change.headers ?? dpop)(token));
  for (const value of proofs(makeProof({ url, token }, change.proof))) headers.append('dpop', value);
  return service.fetch(path, { method, headers });
}

export function holds(fixture: () => Fixture, rows: readonly Row[]): void {
  for (const [name, change, code, start = '', ending = start.startsWith('DPoP error') ? end : ''] of rows)
    test(`${code}: ${name}`, async () => {
      const response = await sendProof(fixture(), change);
      const text = await response.text();
      const status = { accepted: 200, Unauthorized: 403 }[code] ?? 401;
      expect({ status: response.status, text }).toEqual({ status, text: expect.any(String) });
      expectProtected(response);
      if (status !== 200) expect(JSON.parse(text)).toEqual({ code, description: expect.any(String) });
      const challenge = response.headers.get('www-authenticate') ?? '';
      expect(challenge).toStartWith(start);
      expect(challenge).toEndWith(ending);
      // A success has no challenge, and a bare challenge has no parameters.
      if (!start.includes('error=')) expect(challenge).toBe(start);
    });
}

/** The probe, or these rows of it, and rows on a service with this value of `DPOP`. */
export function dpopRows(fixture: () => Fixture, mode: 'on' | 'required', only?: readonly string[]): void {
  test('withstands the probe', async () => {
    const { service } = fixture();
    const targets = [{ url: PUBLIC_URL + SCOPED, scope: SCOPE }];
    const send = async ({ url, method, headers }: Request) =>
      url.startsWith(PUBLIC_URL) ? service.fetch(url.slice(PUBLIC_URL.length), { method, headers }) : new Response();
    const { report } = await probed(fixture(), { targets, fetch: send, only });
    expect(report.skipped.filter(({ id }) => id.startsWith('dpop'))).toEqual([]);
  });

  holds(fixture, [...always, ...modes[mode]]);

  test('rejects a used proof: accepts one of 20 parallel uses, and no later one', async () => {
    const token = fixture().mint({ claims: { cnf: bound } });
    const headers = proven(token, PUBLIC_URL + PRIVATE);
    const use = () => fixture().service.fetch(PRIVATE, { headers });
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await use()).status));
    expect(statuses.toSorted()).toEqual([200, ...Array(19).fill(401)]);
    expect((await use()).headers.get('www-authenticate')).toStartWith(invalidProof[1]);
  });

  // On Bun, these make the URL of a request invalid, and a framework may find another path in it.
  for (const host of ['api.example#', 'x/', 'u@h', 'a b', '[', 'api.example?', '', undefined])
    test(`accepts no proof for another URL with the Host ${JSON.stringify(host)}`, async () => {
      const token = fixture().mint({ claims: { cnf: bound } });
      for (const other of ['', '/', '/other', `/${PRIVATE}`]) {
        const sent = { ...(host !== undefined && { host }), ...proven(token, PUBLIC_URL + other), connection: 'close' };
        const headers = Object.entries(sent).map(([name, value]) => `${name}: ${value}`);
        const { status } = await rawRequest(fixture().service.origin, [`GET ${PRIVATE} HTTP/1.1`, ...headers]);
        expect([0, 400, 401, 404]).toContain(status);
      }
    });
}
