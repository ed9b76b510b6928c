import { expect, test } from 'bun:test';
import { sign } from 'node:crypto';
import { explainToken } from '../../../src/auth/explain.ts';
import type { GuardOptions } from '../../../src/auth/types.ts';
import type { Change } from '../../../src/probe/forge/forge.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { nowSeconds } from '../../support/mint.ts';
import {
  bound,
  makeProof,
  type ProofOverrides,
  proofKey,
  publicJwk,
  sha256,
  thumbprintOf,
} from '../../support/proof.ts';

const publicUrl = 'https://api.example.test';
const url = `${publicUrl}/messages`;
const token = tokenOf({ claims: { cnf: bound } });
const options = { ...offline(), dpop: 'on', publicUrl } as const;
const headers = (proof: string, scheme = 'DPoP') => `Authorization: ${scheme} ${token}\nDPoP: ${proof}`;

/** Explains a token with the proof beside it, and returns its lines without the widths of columns. */
async function explain(text: string, more: Partial<GuardOptions> = {}): Promise<readonly string[]> {
  const explanation = await explainToken(text, { ...options, ...more } as GuardOptions);
  const verdicts = explanation.checks.map(({ verdict }) => `${verdict}, `).join('');
  expect(verdicts).toMatch(/^(passed, )*(rejected, )?(not reached, )*$/);
  return explanation.render().trimEnd().replace(/ +/g, ' ').split('\n');
}

const der = (input: Buffer) => sign('sha256', input, proofKey());
const noZeros = () => {
  const { x } = publicJwk(proofKey());
  return { ...publicJwk(proofKey()), x: Buffer.from(String(x), 'base64url').subarray(1).toString('base64url') };
};
const jwk = publicJwk(proofKey());
const wrongKey = publicJwk(proofKey('RS256'));

type Row = [string, ProofOverrides & Pick<Change, 'signWith'>, line: string, advice: string, Partial<GuardOptions>?];
const rows: readonly Row[] = [
  [
    'another URL',
    { claims: { htu: 'http://localhost:3000/messages' } },
    'htu http://localhost:3000/messages rejected: the URL of the request is https://api.example.test/messages',
    'set publicUrl to http://localhost:3000 if clients reach the API there, otherwise they must call it at https://api.example.test',
  ],
  [
    'a path that the client wrote otherwise',
    { claims: { htu: `${publicUrl}/messages/` } },
    'htu https://api.example.test/messages/ rejected: the URL of the request is https://api.example.test/messages',
    'the client must make a proof for the URL of the request. If a proxy or a mount changes the path, end publicUrl with what it removes',
  ],
  [
    'no URL',
    { claims: { htu: '/messages' } },
    'htu /messages rejected: the URL of the request is https://api.example.test/messages',
    'the client must write the URL of the request, with https and the host',
  ],
  [
    'a method in lower case',
    { claims: { htm: 'get' } },
    'htm get rejected: the method of the request is GET',
    'methods are case-sensitive: the client must write it in upper case',
  ],
  [
    'another method',
    { claims: { htm: 'POST' } },
    'htm POST rejected: the method of the request is GET',
    'the client must make a proof for the method of the request',
  ],
  ['milliseconds', { claims: { iat: Date.now() } }, 'iat in …', 'iat must be in seconds: these are milliseconds'],
  [
    'a time as text',
    { claims: { iat: '1' } },
    'iat 1 rejected: dpopProofMaxAgeSeconds is 60',
    'iat must be a number of seconds since 1970',
  ],
  [
    'a clock that is ahead',
    { claims: { iat: nowSeconds() + 100 } },
    'iat in 1 minute rejected: dpopProofMaxAgeSeconds is 60',
    'the clock of the client is ahead',
  ],
  [
    'an exp that has passed',
    { claims: { exp: nowSeconds() - 7200 } },
    'rejected: dpopProofMaxAgeSeconds is 60…',
    'exp 2 hours ago and nbf none must fit too',
  ],
  [
    'an old request',
    { claims: { iat: nowSeconds() - 200 } },
    'iat 3 minutes ago rejected: dpopProofMaxAgeSeconds is 60',
    'the clock of the client is behind, or the request is old. As of then, the request is accepted',
  ],
  [
    'an old request that has another fault',
    { claims: { iat: nowSeconds() - 200, ath: 'x' } },
    'iat 3 minutes ago rejected: dpopProofMaxAgeSeconds is 60',
    'the clock of the client is behind, or the request is old. As of then, it is rejected too: Proof ath is not the SHA-256 hash of the token',
  ],
  [
    'no ath',
    { claims: { ath: undefined } },
    `ath none rejected: the hash of the token is ${sha256(token)}`,
    'the client predates RFC 9449, which requires ath: update its library, such as the proof builder of @inrupt',
  ],
  [
    'the ath of another token',
    { claims: { ath: 'x' } },
    `ath x rejected: the hash of the token is ${sha256(token)}`,
    'the proof was made for another token, or ath is not base64url of the SHA-256 hash of its text',
  ],
  [
    'another key',
    { key: proofKey('ES256', 'other') },
    `jkt ${bound.jkt} rejected: the thumbprint of the key in jwk is ${thumbprintOf(proofKey('ES256', 'other'))}`,
    'the client must sign with the key for which it requested the token',
  ],
  [
    'a signature in DER',
    { signWith: der },
    `proof sig by the key ${bound.jkt} rejected: it is in DER, as Android, Go and OpenSSL write it, but must be R and S, one after the other`,
    'the client must sign with the key in jwk',
  ],
  [
    'a private key',
    { header: { jwk: { ...jwk, d: 'AAAA' } } },
    'proof jwk EC P-256 rejected: it has the private member d, so others know the key now: replace it',
    'the client must send its public key for ES256 in jwk',
  ],
  [
    'a coordinate without its zeros',
    { header: { jwk: noZeros() } },
    'proof jwk EC P-256 rejected: x has 31 bytes, and must have 32',
    'the client must send its public key for ES256 in jwk',
  ],
  [
    'a key of another type',
    { header: { jwk: wrongKey } },
    'proof jwk RSA rejected: kty is RSA',
    'the client must send its public key for ES256 in jwk',
  ],
  [
    'no key',
    { header: { jwk: undefined } },
    'proof jwk none rejected: the header has no jwk',
    'the client must send its public key for ES256 in jwk',
  ],
  [
    'an algorithm that is not listed',
    { algorithm: 'ES384' },
    'proof alg ES384 rejected: dpopAlgorithms is ES256',
    'set dpopAlgorithms to a list with ES384',
    { dpopAlgorithms: ['ES256'] },
  ],
  [
    'no nonce',
    {},
    'nonce none rejected: dpopNonceSecret is set',
    'the client must repeat the request with the nonce of the DPoP-Nonce header',
    { dpopNonceSecret: 's'.repeat(32) },
  ],
];
test.each(rows)(
  'explainToken() says why a proof with %s is rejected',
  async (_, overrides, line, advice, more = {}) => {
    const lines = await explain(
      `curl ${url} -H 'Authorization: DPoP ${token}' -H 'DPoP: ${makeProof({ url, token }, overrides)}'`,
      more,
    );
    const wanted = line.endsWith('…') ? expect.stringContaining(line.slice(0, -1)) : line;
    expect(lines).toEqual(expect.arrayContaining([wanted]));
    expect(lines.at(-1)?.replace(/^401 \w+: /, '')).toBe(advice);
  },
);

const good = (method = 'GET', target = url) => makeProof({ method, url: target, token });
const wrapped = (text: string) => text.replace(/(\S{60})(?=\S)/g, '$1\n');
const accepted: Readonly<Record<string, string>> = {
  'two header lines': headers(good()),
  'the other line first': `dpop: ${good()}\r\nauthorization: dpop ${token}\r\n`,
  'lines that a terminal broke': wrapped(headers(good())),
  'a request': `POST /messages?a=b HTTP/1.1\nHost: a\n${headers(good('POST'))}\n\n{}`,
  'what curl shows': `> POST /messages HTTP/2\n> Host: a\n> ${headers(good('POST')).replace('\n', '\n> ')}\n>`,
  'a command with a method': `curl -X PUT '${url}?a=b' -H "DPoP: ${good('PUT')}" -H "Authorization: DPoP ${token}"`,
  'a command with data': `curl ${url} --data a=b \\\n -H 'Authorization: DPoP ${token}' \\\n -H 'DPoP: ${good('POST')}'`,
  'a command for the head': `curl -I ${url} -H 'Authorization: DPoP ${token}' -H 'DPoP: ${good('HEAD')}'`,
  ...copied(good('PUT')),
};
/** What browsers copy of a request. */
function copied(proof: string): Record<string, string> {
  const members = { authorization: `DPoP ${token}`, dpop: proof };
  const pairs = Object.entries(members).map(([name, value]) => ({ name, value }));
  const lines = pairs.map(({ name, value }) => ` ^\n  -H ^"${name}: ${value}^"`);
  const assigned = pairs.map(({ name, value }) => `  "${name}"="${value}"\n`);
  return {
    'a command for cmd': `curl -X ^"PUT^" ^"${url}^"${lines.join('')}`,
    'a call of fetch': `fetch("${url}", ${JSON.stringify({ headers: members, method: 'PUT' }, null, 2)});`,
    'a command of PowerShell': `Invoke-WebRequest -Uri "${url}" -Method "PUT" -Headers @{\n${assigned.join('')}}`,
    'a record of requests': JSON.stringify([{ request: { method: 'PUT', url, headers: pairs } }]),
  };
}
test.each(Object.entries(accepted))('explainToken() reads a proof beside the token in %s', async (_, text) => {
  expect((await explain(text)).at(-1)).toBe('200: Token is accepted');
  // A proof is not marked as used, in no store of the process.
  expect((await explain(text)).at(-1)).toBe('200: Token is accepted');
});

test('explainToken() takes the path behind a mount', async () => {
  const target = `${publicUrl}/v1/messages`;
  const text = `curl ${target} -H 'Authorization: DPoP ${token}' -H 'DPoP: ${good('GET', target)}'`;
  expect((await explain(text, { publicUrl: `${publicUrl}/v1` })).at(-1)).toBe('200: Token is accepted');
});

test('explainToken() says that a token with a proof must not be sent as Bearer', async () =>
  expect((await explain(headers(good(), 'Bearer'))).at(-1)).toBe(
    '401 invalid_token: the client must send the token with the scheme DPoP',
  ));

for (const [what, text] of Object.entries({ 'a proof': good(), 'its header line': `DPoP: ${good()}` }))
  for (const given of [options, {}])
    test(`explainToken() takes ${what} alone for no token, ${'issuer' in given ? 'with' : 'without'} options`, async () => {
      const { advice, suggestion, status } = await explainToken(text, given as GuardOptions);
      expect(advice).toBe('this is a proof: paste the token, or both header lines, Authorization and DPoP');
      expect([suggestion, status]).toEqual([undefined, 401]);
    });
