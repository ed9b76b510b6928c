import { printable } from '../../values/url.ts';
import { type Challenge, challengesIn } from '../challenges.ts';
import { forge, withSignature } from '../forge.ts';
import { type Answer, type Attempt, isScoped, type Row, response, type Trial, topic } from '../row.ts';

// What a refusal says: its challenge (RFC 6750 §3, RFC 9110 §11.6.1), and what it must not say.

const garbage: Attempt = { headers: [['Authorization', 'Bearer e30.e30.e30']] };
const malformed: Attempt = { headers: [['Authorization', 'Bearer a b']] };
/** The challenge of Bearer or DPoP. */
const ofTokens = (answer: Answer): Challenge | undefined => challengesIn(answer.headers.get('www-authenticate'))?.find(({ scheme }) => /^(?:bearer|dpop)$/i.test(scheme));
const said = (answer: Answer) => printable(`${answer.status} ${answer.headers.get('www-authenticate') ?? 'without WWW-Authenticate'}`);
/** Decides about a 401 only: an API may answer 403 or 404 instead. */
const of401 = (fault: (answer: Answer, trial: Trial) => string | boolean | undefined) => (answer: Answer, trial: Trial) => {
  const found = answer.status === 401 && fault(answer, trial);
  return found ? (found === true ? said(answer) : found) : undefined;
};
const lists = (answer: Answer, name: string) => ofTokens(answer)?.parameters.filter(([each]) => each === name) ?? [];
const value = (answer: Answer, name: string) => lists(answer, name)[0]?.[1];
const stack = /\bat .+[(/].+:\d+:\d+\)?|Traceback \(most recent|\.(?:java|py|rb|go|cs):\d+\b|node_modules\//;
const wrongScope = ({ base }: Trial): Attempt => ({ token: forge(base, { claims: { scope: '' } }) });

// biome-ignore format: a row is a line.
export const responses: readonly Row[] = [
  ...topic('challenge', { rule: 'RFC 6750 §3; RFC 9110 §11.6.1', needs: 'nothing', remedy: 'Send WWW-Authenticate: Bearer with every 401' }, {
    present: ['no token', response('WWW-Authenticate with a 401', {}, of401((answer) => answer.headers.get('www-authenticate') === null)), { rule: 'RFC 9110 §15.5.2' }],
    scheme: ['no token', response('the scheme Bearer or DPoP', {}, of401((answer) => ofTokens(answer) === undefined))],
    syntax: ['no token', response('a challenge that can be parsed', {}, of401((answer) => challengesIn(answer.headers.get('www-authenticate')) === undefined)), { rule: 'RFC 9110 §11.2, §11.3' }],
    'present-bad-token': ['a token that is none', response('WWW-Authenticate with a 401', garbage, of401((answer) => answer.headers.get('www-authenticate') === null)), { rule: 'RFC 9110 §15.5.2' }],
    'scheme-bad-token': ['a token that is none', response('the scheme Bearer or DPoP', garbage, of401((answer) => ofTokens(answer) === undefined))],
    'syntax-bad-token': ['a token that is none', response('a challenge that can be parsed', garbage, of401((answer) => challengesIn(answer.headers.get('www-authenticate')) === undefined)), { rule: 'RFC 9110 §11.2, §11.3' }],
    'no-error': ['no token', response('a challenge without error', {}, of401((answer) => value(answer, 'error') !== undefined)), { level: 'should', rule: 'RFC 6750 §3.1' }],
    'invalid-token': ['a token that is none', response('error="invalid_token"', garbage, of401((answer) => !/^invalid_(?:token|request)$/.test(value(answer, 'error') ?? ''))), { level: 'should', rule: 'RFC 6750 §3.1' }],
    'invalid-request': ['a malformed header', response('400 or 401, with invalid_request', malformed, (answer) => (answer.outcome === 'refused' && ![400, 401].includes(answer.status) ? said(answer) : undefined)), { level: 'should', rule: 'RFC 6750 §3.1' }],
    'status-no-token': ['no token', response('401', {}, (answer) => (answer.status === 401 ? undefined : said(answer))), { level: 'should', rule: 'RFC 6750 §3.1' }],
    'status-bad-token': ['a token that is none', response('401', garbage, (answer) => (answer.status === 401 || answer.status === 400 ? undefined : said(answer))), { level: 'should', rule: 'RFC 6750 §3.1' }],
    'no-repetition': ['a token that is none', response('each parameter once', garbage, of401((answer) => { const names = ofTokens(answer)?.parameters.map(([name]) => name) ?? []; return names.length !== new Set(names).size; }))],
    characters: ['a token that is none', response('printable ASCII without quotes in error and error_description', garbage, of401((answer) => !/^[ !#-[\]-~]*$/.test(`${value(answer, 'error') ?? ''}${value(answer, 'error_description') ?? ''}`)))],
    'scope-status': ['a token without the scope', response('403', wrongScope, (answer) => (answer.status === 403 ? undefined : said(answer))), { level: 'should', needs: 'issuer', rule: 'RFC 6750 §3.1', skip: isScoped }],
    'scope-error': ['a token without the scope', response('error="insufficient_scope"', wrongScope, (answer) => (answer.status !== 403 || value(answer, 'error') === 'insufficient_scope' ? undefined : said(answer))), { level: 'should', needs: 'issuer', rule: 'RFC 6750 §3.1', skip: isScoped }],
    'resource-metadata': ['no token', response('resource_metadata', {}, of401((answer, { metadata }) => metadata !== undefined && value(answer, 'resource_metadata') === undefined)), { level: 'should', rule: 'RFC 9728 §5.1', profiles: { mcp: 'must' }, skip: ({ metadata, profile }) => (metadata || profile === 'mcp' ? undefined : 'There are no metadata (RFC 9728)') }],
  }),
  ...topic('error', { rule: 'RFC 6750 §3.1; RFC 9110 §15.6', needs: 'nothing', remedy: 'Catch what the verification throws, and refuse the request' }, {
    garbage: ['texts that are no tokens', noFault('e30.e30.e30', 'x', '..', 'a.b.c', '__proto__', '%00')],
    header: ['an Authorization header of odd characters', { expected: 'no 5xx', run: (trial) => withoutFault(trial, ['Bearer', 'Bearer \u00e9', 'a', '=', 'Basic', 'Digest x="'].map((text) => ({ headers: [['Authorization', text]] }))) }],
    json: ['a token whose parts are no JSON', noFault(`${'eyJ'}.${'eyJ'}.AAAA`, 'bm8.bm8.bm8', 'bnVsbA.bnVsbA.AAAA', 'W10.W10.AAAA')],
    claims: ['claims of odd types', { expected: 'no 5xx', run: (trial) => withoutFault(trial, [{ aud: null }, { exp: {} }, { scope: { a: [] } }, { iss: ['x'] }, { sub: 1 }].map((claims) => ({ token: forge(trial.base, { claims }) }))) }, { needs: 'issuer' }],
    kid: ['odd key IDs', { expected: 'no 5xx', run: (trial) => withoutFault(trial, ['', null, 0, {}, '__proto__'].map((kid) => ({ token: forge(trial.base, { header: { kid } }) }))) }, { needs: 'issuer' }],
    long: ['a token of 7,000 characters', noFault(`e30.${'A'.repeat(7000)}.AA`)],
    huge: ['a token of 100,000 characters', noFault(`e30.${'A'.repeat(100_000)}.AA`), { skip: ({ isIntrusive }) => (isIntrusive ? undefined : 'A header over 8 KiB: --intrusive') }],
  }),
  ...topic('leak', { rule: 'CWE-209; RFC 9700 §4.3', needs: 'nothing', level: 'should', remedy: 'Send a fixed text, and log the cause' }, {
    stack: ['tokens and headers that are none', response('no stack trace', garbage, ({ text }) => (stack.test(text) ? `a body with ${printable(stack.exec(text)?.[0] ?? '', 80)}` : undefined))],
    'stack-json': ['a token whose parts are no JSON', response('no stack trace', { headers: [['Authorization', 'Bearer eyJ.eyJ.AAAA']] }, ({ text }) => (stack.test(text) ? `a body with ${printable(stack.exec(text)?.[0] ?? '', 80)}` : undefined))],
    token: ['a token that is none', response('no token in the response', { headers: [['Authorization', 'Bearer e30.cHJvYmVkLXRva2Vu.e30']] }, ({ text, headers }) => `${text}${[...headers].join()}`.includes('cHJvYmVkLXRva2Vu') ? 'a response with the token' : undefined)],
    'bad-signature': ['a good token with another signature', response('no stack trace', ({ base }) => ({ token: withSignature(forge(base), 'AAAA') }), ({ text }) => (stack.test(text) ? 'a body with a stack trace' : undefined))],
  }),
  ...topic('manners', { rule: 'RFC 9110 §9.3.2', needs: 'token', level: 'should', remedy: 'Answer HEAD as GET' }, {
    head: ['HEAD with a good token', response('the status of GET, or 405', ({ base }) => ({ token: forge(base), method: 'HEAD' }), ({ status, words }, { good }) => (status === good?.status || status === 405 || status === 404 ? undefined : words)), { skip: ({ method }) => (method === 'GET' ? undefined : 'The method is not GET') }],
    'cors-refusal': ['no token, from a page of another origin', response('the same Access-Control-Allow-Origin as a success', { headers: [['Origin', 'https://spa.invalid']] }, ({ headers }, { good }) => good?.headers.get('access-control-allow-origin') === '*' && headers.get('access-control-allow-origin') === null ? 'no Access-Control-Allow-Origin' : undefined), { rule: 'Fetch §3.3' }],
    'no-success-body': ['no token', response('no part of the protected response', {}, ({ text }, { good }) => (text.length > 20 && text === good?.text ? 'the body of a success' : undefined)), { level: 'must', rule: 'RFC 6750 §3' }],
  }),
];

/** Fails if a server error comes while a good token still works. */
async function withoutFault(trial: Trial, attempts: readonly Attempt[]): ReturnType<Row['run']> {
  for (const attempt of attempts) {
    const { status, words } = await trial.send(attempt);
    if (status < 500) continue;
    const again = await trial.send(trial.good ? { token: forge(trial.base) } : {});
    return { verdict: again.status < 500 && again.status > 0 ? 'failed' : 'inconclusive', got: words };
  }
  return { verdict: 'passed', got: 'no 5xx' };
}

function noFault(...texts: readonly string[]) {
  const attempts = texts.map((text): Attempt => ({ headers: [['Authorization', `Bearer ${text}`]] }));
  return { expected: 'no 5xx', run: (trial: Trial) => withoutFault(trial, attempts) };
}
