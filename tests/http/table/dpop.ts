import { expect, test } from 'bun:test';
import { expectProtected } from '../../support/expect-error.ts';
import { bearer, type Fixture } from '../../support/fixture.ts';
import { nowSeconds, SCOPE } from '../../support/mint.ts';
import { makeProof, type ProofOverrides, proofKey, thumbprintOf } from '../../support/proof.ts';

export const PUBLIC_URL = 'https://api.example.test';
const algs = 'algs="ES256 ES384 RS256 PS256 EdDSA"';
const metadata = `resource_metadata="${PUBLIC_URL}/.well-known/oauth-protected-resource"`;
export const bare = { Bearer: `Bearer ${metadata}`, DPoP: `DPoP ${algs}, ${metadata}` };

interface Row {
  readonly name: string;
  /** What the token says of the key that it is bound to; by default the thumbprint of the key that signs proofs. */
  readonly cnf?: object | undefined;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly path?: string;
  readonly method?: string;
  readonly authorization?: (token: string) => Record<string, string>;
  readonly proof?: ProofOverrides;
  /** The DPoP header, in place of one good proof. */
  readonly proofs?: (proof: string) => readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly want: number;
  readonly code?: string;
  /** The challenges; with an error what they begin with, and perhaps what they end with. */
  readonly challenge?: string | readonly string[];
}

const dpop = (token: string) => ({ authorization: `DPoP ${token}` });
const bound = { jkt: thumbprintOf(proofKey()) };
const invalidToken = { want: 401, code: 'invalid_header', challenge: 'DPoP error="invalid_token", error_description=' };
const invalidProof = {
  want: 401,
  code: 'invalid_header',
  challenge: 'DPoP error="invalid_dpop_proof", error_description=',
};
const bothBare = `${bare.Bearer}, ${bare.DPoP}`;

/** What HTTP adds to the rules for proofs and tokens, which are rows of tests/auth/proof. */
const always: readonly Row[] = [
  { name: 'accepts a bound token with its proof', want: 200 },
  { name: 'takes the scheme in any case', authorization: (token) => ({ authorization: `dpop ${token}` }), want: 200 },
  { name: 'accepts HEAD with a proof for HEAD', method: 'HEAD', proof: { claims: { htm: 'HEAD' } }, want: 200 },
  { name: 'accepts a query that the proof does not name', path: '/api/private?x=1', want: 200 },
  { name: 'refuses a token without a proof', proofs: () => [], ...invalidProof },
  { name: 'refuses two proofs', proofs: (proof) => [proof, proof], ...invalidProof },
  {
    name: 'refuses a proof for the host that the request names',
    proof: { claims: { htu: 'https://evil.example.test/api/private' } },
    headers: { host: 'evil.example.test', 'x-forwarded-host': 'evil.example.test' },
    ...invalidProof,
  },
  {
    name: 'refuses a token that is bound to another key',
    cnf: { jkt: thumbprintOf(proofKey('ES256', 'other')) },
    ...invalidToken,
  },
  { name: 'refuses a token that is not bound', cnf: undefined, ...invalidToken },
  {
    name: 'refuses an expired token before its proof',
    claims: { exp: 1 },
    proofs: () => [],
    want: 401,
    code: 'token_expired',
    challenge: 'DPoP error="invalid_token", error_description=',
  },
  {
    name: 'refuses the scheme alone',
    authorization: () => ({ authorization: 'DPoP' }),
    want: 401,
    code: 'invalid_header',
    challenge: 'DPoP error="invalid_request", error_description=',
  },
  {
    name: 'refuses a token without the scope',
    path: '/api/private-scoped',
    claims: { scope: '' },
    want: 403,
    code: 'Unauthorized',
    challenge: ['DPoP error="insufficient_scope", error_description=', `scope="${SCOPE}", ${algs}, ${metadata}`],
  },
];
const on: readonly Row[] = [
  {
    name: 'refuses a bound token as a plain one',
    authorization: bearer,
    want: 401,
    code: 'invalid_header',
    challenge: 'Bearer error="invalid_token", error_description=',
  },
  { name: 'accepts a plain token', cnf: undefined, authorization: bearer, want: 200 },
  {
    name: 'names both schemes to a request without credentials',
    authorization: () => ({}),
    want: 401,
    code: 'authorization_header_missing',
    challenge: bothBare,
  },
  {
    name: 'names both schemes to another one',
    authorization: () => ({ authorization: 'Basic eDp5' }),
    want: 401,
    code: 'invalid_header',
    challenge: bothBare,
  },
  {
    name: 'answers a plain token in its own scheme',
    cnf: undefined,
    claims: { exp: 1 },
    authorization: bearer,
    want: 401,
    code: 'token_expired',
    challenge: 'Bearer error="invalid_token", error_description=',
  },
];
const required: readonly Row[] = [
  {
    name: 'refuses a bound token as a plain one',
    authorization: bearer,
    want: 401,
    code: 'invalid_header',
    challenge: bare.DPoP,
  },
  {
    name: 'refuses a plain token',
    cnf: undefined,
    authorization: bearer,
    want: 401,
    code: 'invalid_header',
    challenge: bare.DPoP,
  },
  {
    name: 'names one scheme to a request without credentials',
    authorization: () => ({}),
    want: 401,
    code: 'authorization_header_missing',
    challenge: bare.DPoP,
  },
  {
    name: 'names one scheme to another one',
    authorization: () => ({ authorization: 'Basic eDp5' }),
    want: 401,
    code: 'invalid_header',
    challenge: bare.DPoP,
  },
];

/** Sends a valid request with the changes of the row. */
export async function sendProof({ service, mint }: Fixture, row: Row): Promise<Response> {
  const { path = '/api/private', method = 'GET', authorization = dpop, proofs = (proof) => [proof] } = row;
  const token = mint({ claims: { cnf: 'cnf' in row ? row.cnf : bound, ...row.claims } });
  const url = PUBLIC_URL + path.replace(/\?.*/, '');
  const proof = makeProof({ url, token, nowSeconds: nowSeconds() }, row.proof);
  const headers = new Headers({ ...authorization(token), ...row.headers });
  for (const value of proofs(proof)) headers.append('dpop', value);
  return service.fetch(path, { method, headers });
}

export function holds(fixture: () => Fixture, rows: readonly Row[]): void {
  for (const row of rows) {
    test(row.name, async () => {
      const response = await sendProof(fixture(), row);
      const text = await response.text();
      expect({ status: response.status, text }).toEqual({ status: row.want, text: expect.any(String) });
      expectProtected(response);
      if (row.method !== 'HEAD' && row.code)
        expect(JSON.parse(text)).toEqual({ code: row.code, description: expect.any(String) });
      const challenge = response.headers.get('www-authenticate') ?? '';
      const [start = '', end = start.startsWith('DPoP error') ? `${algs}, ${metadata}` : ''] = [
        row.challenge ?? '',
      ].flat();
      expect(challenge).toStartWith(start);
      expect(challenge).toEndWith(end);
      // A success has none, and a bare challenge nothing after it.
      if (!start.includes('error=')) expect(challenge).toBe(start);
    });
  }
}

/** What a service with `DPOP` set to this does. */
export function dpopRows(fixture: () => Fixture, mode: 'on' | 'required'): void {
  holds(fixture, [...always, ...(mode === 'on' ? on : required)]);

  test('accepts one of 20 parallel uses of a proof, and none later', async () => {
    const token = fixture().mint({ claims: { cnf: bound } });
    const proof = makeProof({ url: `${PUBLIC_URL}/api/private`, token, nowSeconds: nowSeconds() });
    const use = () => fixture().service.fetch('/api/private', { headers: { ...dpop(token), dpop: proof } });
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await use()).status));
    expect(statuses.toSorted()).toEqual([200, ...Array(19).fill(401)]);
    const again = await use();
    expect(again.headers.get('www-authenticate')).toStartWith(invalidProof.challenge);
  });
}
