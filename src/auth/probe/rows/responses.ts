import { printable } from '../../values/url.ts';
import { type Change, changePart } from '../forge.ts';
import { type Challenge, challengesIn } from '../http/challenges.ts';
import { type Answer, type Attempt, claims, finding, headers, isScoped, type Row, response, type Trial, topic } from '../row.ts';

// What a refusal says: its challenge (RFC 6750 §3, RFC 9110 §11.6.1), and what it must not say.

const none: Attempt = {};
const garbage: Attempt = { headers: [['Authorization', 'Bearer e30.e30.e30']] };
const both = [none, garbage];
const malformed: Attempt = { headers: [['Authorization', 'Bearer a b']] };
/** The challenge of Bearer or DPoP. */
const ofTokens = (answer: Answer): Challenge | undefined => challengesIn(answer.headers.get('www-authenticate'))?.find(({ scheme }) => /^(?:bearer|dpop)$/i.test(scheme));
const said = (answer: Answer) => printable(`${answer.status} ${answer.headers.get('www-authenticate') ?? 'without WWW-Authenticate'}`);
/** Decides about a 401 only: an API may answer 403 or 404 instead. */
const of401 = (fault: (answer: Answer, trial: Trial) => string | boolean | undefined) => (answer: Answer, trial: Trial) => {
  const found = answer.status === 401 && fault(answer, trial);
  return found ? (found === true ? said(answer) : found) : undefined;
};
const isPresent = of401((answer) => answer.headers.get('www-authenticate') === null);
const hasScheme = of401((answer) => ofTokens(answer) === undefined);
const isParsed = of401((answer) => challengesIn(answer.headers.get('www-authenticate')) === undefined);
const lists = (answer: Answer, name: string) => ofTokens(answer)?.parameters.filter(([each]) => each === name) ?? [];
const value = (answer: Answer, name: string) => lists(answer, name)[0]?.[1];
const stack = /\bat .+[(/].+:\d+:\d+\)?|Traceback \(most recent|\.(?:java|py|rb|go|cs):\d+\b|node_modules\//;
const wrongScope: Attempt = { token: { claims: { scope: '' } } };
/**
 * Fails if a server error comes while a good token still works. A gateway responds with 502, 503 or 504. A server may close the
 * connection while a long header is still being sent, so that its 431 is lost.
 */
const noFault = (...attempts: readonly Attempt[]) =>
  finding('no 5xx', async (trial) => {
    for (const attempt of attempts) {
      const { status, words } = await trial.send(attempt);
      if (status > 0 && status < 500) continue;
      const again = await trial.send(trial.good ? { token: {} } : {});
      const isUp = again.status > 0 && again.status < 500;
      if (isUp && status === 0 && String(attempt.headers).length > 8192) continue;
      const isFault = isUp && status >= 500 && ![502, 503, 504].includes(status);
      return { verdict: isFault ? 'failed' : 'inconclusive', got: words };
    }
    return { verdict: 'passed', got: 'no 5xx' };
  });
const withHeader = (...values: readonly string[]) => noFault(...values.map((value): Attempt => ({ headers: [['Authorization', value]] })));
const withToken = (...texts: readonly string[]) => withHeader(...texts.map((text) => `Bearer ${text}`));
const withChanges = (...changes: readonly Change[]) => noFault(...changes.map((token) => ({ token })));
const noStack = (attempts: Attempt | readonly Attempt[]) => response('no stack trace', attempts, ({ text }) => (stack.test(text) ? `a body with ${printable(stack.exec(text)?.[0] ?? '', 80)}` : undefined));

// biome-ignore format: a row is a line.
export const responses: readonly Row[] = [
  ...topic('challenge', { rule: 'RFC 6750 §3; RFC 9110 §11.6.1', needs: 'nothing', remedy: 'Send WWW-Authenticate: Bearer with every 401' }, {
    present: ['no token, and text that is not a token', response('WWW-Authenticate with a 401', both, isPresent), { rule: 'RFC 9110 §15.5.2' }],
    scheme: ['no token, and text that is not a token', response('the scheme Bearer or DPoP', both, hasScheme)],
    syntax: ['no token, and text that is not a token', response('a challenge that can be parsed', both, isParsed), { rule: 'RFC 9110 §11.2, §11.3' }],
    'no-error': ['no token', response('a challenge without error', none, of401((answer) => value(answer, 'error') !== undefined)), { level: 'should', rule: 'RFC 6750 §3.1' }],
    'invalid-token': ['text that is not a token', response('error="invalid_token"', garbage, of401((answer) => !/^invalid_(?:token|request)$/.test(value(answer, 'error') ?? ''))), { level: 'should', rule: 'RFC 6750 §3.1' }],
    'invalid-request': ['a malformed header', response('400 or 401, with invalid_request', malformed, (answer) => (answer.outcome === 'refused' && ![400, 401].includes(answer.status) ? said(answer) : undefined)), { level: 'should', rule: 'RFC 6750 §3.1' }],
    'status-no-token': ['no token', response('401', none, (answer) => (answer.status === 401 ? undefined : said(answer))), { level: 'should', rule: 'RFC 6750 §3.1' }],
    'status-bad-token': ['text that is not a token', response('401', garbage, (answer) => (answer.status === 401 || answer.status === 400 ? undefined : said(answer))), { level: 'should', rule: 'RFC 6750 §3.1' }],
    'no-repetition': ['text that is not a token', response('each parameter once', garbage, of401((answer) => { const names = ofTokens(answer)?.parameters.map(([name]) => name) ?? []; return names.length !== new Set(names).size; }))],
    characters: ['text that is not a token', response('printable ASCII without quotes in error and error_description', garbage, of401((answer) => !/^[ !#-[\]-~]*$/.test(`${value(answer, 'error') ?? ''}${value(answer, 'error_description') ?? ''}`)))],
    'scope-status': ['a token without the scope', response('403', wrongScope, (answer) => (answer.status === 403 ? undefined : said(answer))), { level: 'should', needs: 'issuer', rule: 'RFC 6750 §3.1', skip: isScoped }],
    'scope-error': ['a token without the scope', response('error="insufficient_scope"', wrongScope, (answer) => (answer.status !== 403 || value(answer, 'error') === 'insufficient_scope' ? undefined : said(answer))), { level: 'should', needs: 'issuer', rule: 'RFC 6750 §3.1', skip: isScoped }],
    'resource-metadata': ['no token', response('resource_metadata', none, of401((answer, { metadata }) => metadata !== undefined && value(answer, 'resource_metadata') === undefined)), { level: 'should', rule: 'RFC 9728 §5.1', profiles: { mcp: 'must' }, skip: ({ metadata, profile }) => (metadata || profile === 'mcp' ? undefined : 'There are no metadata (RFC 9728)') }],
  }),
  ...topic('error', { rule: 'RFC 6750 §3.1; RFC 9110 §15.6', needs: 'nothing', remedy: 'Catch what the verification throws, and refuse the request' }, {
    garbage: ['texts that are not tokens', withToken('x', '..', 'a.b.c', '__proto__', '%00')],
    header: ['an Authorization header of odd characters', withHeader('Bearer', 'Bearer \u00e9', 'a', '=', 'Basic', 'Digest x="')],
    json: ['a token whose parts are no JSON', withToken('eyJ.eyJ.AAAA', 'bm8.bm8.bm8', 'bnVsbA.bnVsbA.AAAA', 'W10.W10.AAAA')],
    claims: ['claims of odd types', withChanges(...claims('aud', null), ...claims('exp', {}), ...claims('scope', { a: [] }), ...claims('iss', ['x']), ...claims('sub', 1)), { needs: 'issuer' }],
    kid: ['odd key IDs', withChanges(...headers('kid', '', null, 0, {}, '__proto__')), { needs: 'issuer' }],
    long: ['a token of 7,000 characters', withToken(`e30.${'A'.repeat(7000)}.AA`)],
    huge: ['a token of 100,000 characters', withToken(`e30.${'A'.repeat(100_000)}.AA`), { skip: ({ isIntrusive }) => (isIntrusive ? undefined : 'A header over 8 KiB: --intrusive') }],
  }),
  ...topic('leak', { rule: 'CWE-209; RFC 9700 §4.3', needs: 'nothing', level: 'should', remedy: 'Send a fixed text, and log the cause' }, {
    stack: ['tokens that are none', noStack([garbage, { headers: [['Authorization', 'Bearer eyJ.eyJ.AAAA']] }])],
    token: ['text that is not a token', response('no token in the response', { headers: [['Authorization', 'Bearer e30.cHJvYmVkLXRva2Vu.e30']] }, ({ text, headers }) => `${text}${[...headers].join()}`.includes('cHJvYmVkLXRva2Vu') ? 'a response with the token' : undefined)],
    'bad-signature': ['a good token with another signature', noStack({ token: changePart(2, () => 'AAAA') })],
  }),
  ...topic('manners', { rule: 'RFC 9110 §9.3.2', needs: 'token', level: 'should', remedy: 'Answer HEAD as GET' }, {
    head: ['HEAD with a good token', response('the status of GET, or 405', { token: {}, method: 'HEAD' }, ({ status, words }, { good }) => (status === good?.status || status === 405 || status === 404 ? undefined : words)), { skip: ({ method }) => (method === 'GET' ? undefined : 'The method is not GET') }],
    'cors-refusal': ['no token, from a page of another origin', response('the same Access-Control-Allow-Origin as a success', { headers: [['Origin', 'https://spa.invalid']] }, ({ status, headers }, { good }) => status === 401 && good?.headers.get('access-control-allow-origin') === '*' && headers.get('access-control-allow-origin') === null ? 'no Access-Control-Allow-Origin' : undefined), { rule: 'Fetch §3.3', remedy: 'Let refusals have the CORS headers, too' }],
    'no-success-body': ['no token', response('no part of the protected response', none, ({ text }, { good }) => (text.length > 20 && text === good?.text ? 'the body of a success' : undefined)), { rule: 'CWE-698; RFC 6750 §3', remedy: 'End the response after a refusal' }],
  }),
];
