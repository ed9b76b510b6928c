import { nowSeconds } from '../../issuer/signer.ts';
import { forge, withSignature } from '../forge.ts';
import { type Attempt, acceptedRequest, controlSubject, finding, type Row, refuses, requests, response, type Trial, topic } from '../row.ts';

// Where a token is, how the header spells it, and what the paths and caches around it do.

const authorization = (...values: readonly string[]): Attempt => ({ headers: values.map((value) => ['Authorization', value] as const) });
/** A request whose header is this, with a good token for TOKEN. */
const spelled =
  (...values: readonly string[]) =>
  (trial: Trial): Attempt =>
    authorization(...values.map((value) => value.replaceAll('TOKEN', forge(trial.base))));
const eachSpelled = (...values: readonly string[]) => requests(...values.map((value) => spelled(value)));
const isBearer = ({ scheme }: Trial) => (scheme === 'Bearer' ? undefined : 'Tokens are bound to keys');
const header = (name: string, value: string): Attempt => ({ headers: [[name, value]] });
const query =
  (name: string) =>
  (trial: Trial): Attempt => ({ url: (url) => `${url}${url.includes('?') ? '&' : '?'}${name}=${forge(trial.base)}` });
const cookie = (name: string) => (trial: Trial) => header('Cookie', `${name}=${forge(trial.base)}`);
const path = (change: (path: string) => string): Attempt => ({
  url: (url) => {
    const [, origin = '', at = '', rest = ''] = /^(https?:\/\/[^/?#]*)([^?#]*)(.*)$/s.exec(url) ?? [];
    return origin + change(at) + rest;
  },
});
/** The path in another spelling, without a token: what a good token gets must not come. */
const near = (change: (path: string) => string) =>
  response('anything but the protected response', path(change), ({ outcome, text, words }, { good }) => (outcome === 'served' && good !== undefined && text !== '' && text === good.text ? words : undefined));

// biome-ignore format: a row is a line.
export const credentials: readonly Row[] = [
  ...topic('no-token', { rule: 'RFC 6750 §2, §3', needs: 'nothing', remedy: 'Guard the route, and every method and spelling of it' }, {
    'empty-header': ['an empty Authorization header', requests(authorization(''), authorization(' \t '))],
    head: ['HEAD without a token', requests({ method: 'HEAD' })],
    'other-headers': ['headers that mislead: X-Original-URL, X-HTTP-Method-Override, Forwarded … (CWE-290)', requests(...['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix', 'Forwarded'].map((name) => header(name, '/')), header('X-HTTP-Method-Override', 'OPTIONS'))],
    'trusted-headers': ['headers of a proxy that name a user (CWE-290)', requests(...['X-Forwarded-User', 'X-Remote-User', 'X-Auth-Request-User', 'X-Authenticated-Userid'].map((name) => header(name, 'admin')))],
    preflight: ['GET with the headers of a preflight', requests({ headers: [['Origin', 'https://spa.invalid'], ['Access-Control-Request-Method', 'GET']] })],
    upgrade: ['an upgrade to a WebSocket', requests({ headers: [['X-Upgrade', 'websocket'], ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ==']] })],
  }),
  ...topic('path', { rule: 'RFC 9110 §4.2.3; CWE-863', needs: 'token', remedy: 'Guard what the router matches, not what the URL looks like' }, {
    slash: ['the path with a slash behind it, without a token', near((it) => `${it}/`)],
    'double-slash': ['the path with two slashes, without a token', near((it) => it.replace('/', '//'))],
    case: ['the path in upper case, without a token', near((it) => it.toUpperCase())],
    encoded: ['the path with an encoded letter, without a token', near((it) => it.replace(/[a-z]/i, (letter) => `%${letter.charCodeAt(0).toString(16)}`))],
    semicolon: ['the path with ;x=1 behind it, without a token', near((it) => `${it};x=1`)],
    extension: ['the path with .json behind it, without a token', near((it) => `${it}.json`)],
    query: ['another query, without a token', { expected: 'a refusal (4xx)', run: async (trial) => refuses(trial, [{ url: (url) => `${url}${url.includes('?') ? '&' : '?'}x=1` }]) }],
  }),
  ...topic('scheme', { rule: 'RFC 6750 §2.1; RFC 9110 §11.4', needs: 'token', level: 'should', remedy: 'Accept the scheme in any case, one space, and one token', skip: isBearer }, {
    'any-case': ['the scheme in other letters', acceptedRequest(spelled('bEaReR TOKEN')), { level: 'must', rule: 'RFC 9110 §11.1' }],
    'name-any-case': ['the name of the header in other letters', acceptedRequest((trial) => header('AUTHORIZATION', `Bearer ${forge(trial.base)}`)), { level: 'must', rule: 'RFC 9110 §5.1' }],
    spaces: ['several spaces behind the scheme', acceptedRequest(spelled('Bearer   TOKEN')), { rule: 'RFC 9110 §11.4' }],
    basic: ['a good token as Basic credentials', eachSpelled('Basic TOKEN')],
    none: ['a good token without a scheme', eachSpelled('TOKEN')],
    other: ['a good token of another scheme', eachSpelled('Token TOKEN', 'JWT TOKEN', 'BearerToken TOKEN', 'XBearer TOKEN')],
    punctuation: ['punctuation behind the scheme', eachSpelled('Bearer: TOKEN', 'Bearer=TOKEN', 'Bearer, TOKEN', '"Bearer" TOKEN')],
    joined: ['nothing between scheme and token', eachSpelled('BearerTOKEN')],
    'beyond-ascii': ['a letter beyond ASCII in the scheme', eachSpelled('B\u00e9arer TOKEN', 'Bearer\u00a0TOKEN')],
    dpop: ['a plain token with the scheme DPoP, and no proof', eachSpelled('DPoP TOKEN'), { rule: 'RFC 9449 §7.1' }],
  }),
  ...topic('credentials', { rule: 'RFC 6750 §2.1, §3.1', needs: 'token', level: 'should', remedy: 'Reject a header that is not one scheme and one token', skip: isBearer }, {
    alone: ['the scheme alone', requests(authorization('Bearer'), authorization('Bearer \t ')), { level: 'must', needs: 'nothing' }],
    'word-behind': ['a word behind a good token', eachSpelled('Bearer TOKEN x', 'Bearer\tTOKEN\tx')],
    twice: ['a good token twice', eachSpelled('Bearer TOKEN TOKEN', 'Bearer TOKEN,TOKEN')],
    'scheme-twice': ['the scheme twice', eachSpelled('Bearer Bearer TOKEN')],
    'two-headers': ['two headers with a good token', requests(spelled('Bearer TOKEN', 'Bearer TOKEN')), { rule: 'RFC 9110 §5.3; RFC 6750 §2' }],
    'two-headers-bad': ['two headers, the second with a bad token', requests(spelled('Bearer TOKEN', 'Bearer e30.e30.e30')), { rule: 'RFC 9110 §5.3' }],
    'two-headers-basic': ['two headers, the second with Basic', requests(spelled('Bearer TOKEN', 'Basic dTpw')), { rule: 'RFC 9110 §5.3' }],
  }),
  ...topic('elsewhere', { rule: 'RFC 6750 §2.3; RFC 9700 §4.3.2', needs: 'token', level: 'should', remedy: 'Take tokens from the Authorization header only' }, {
    query: ['a good token in the query, as access_token', requests(query('access_token')), { profiles: { mcp: 'must', fapi2: 'must' } }],
    'query-names': ['a good token in the query, by other names', requests(query('token'), query('jwt'), query('authorization'))],
    cookie: ['a good token in a cookie', requests(cookie('access_token'), cookie('token'), cookie('jwt')), { rule: 'RFC 6750 §2' }],
    'other-header': ['a good token in other headers', requests((trial) => header('X-Access-Token', forge(trial.base)), (trial) => header('Proxy-Authorization', `Bearer ${forge(trial.base)}`)), { rule: 'RFC 6750 §2' }],
    body: ['a good token in the body of a form', requests((trial) => ({ body: `access_token=${forge(trial.base)}` })), { rule: 'RFC 6750 §2.2', profiles: { fapi2: 'must' }, skip: ({ method }) => (/GET|HEAD/.test(method) ? 'A request of this method has no body' : undefined) }],
  }),
  ...topic('cache', { rule: 'RFC 9111 §3.5; RFC 6750 §5.3', needs: 'token', remedy: 'Key no cache by the URL alone: Cache-Control: private or no-store, or Vary: Authorization' }, {
    anonymous: ['a good token, and then no token', finding('a refusal of the second', (trial) => after(trial, {}))],
    'bad-token': ['a good token, and then one with another signature', finding('a refusal of the second', (trial) => after(trial, { token: withSignature(forge(trial.base), 'AAAA') }))],
    subject: [
      'tokens of two subjects, one after the other',
      finding('no word of the first in the second', async (trial) => {
        const name = `probe-${nowSeconds()}-a`;
        const [first, second] = [name, `probe-${nowSeconds()}-b`].map((sub) => forge(trial.base, { claims: { sub } }));
        const before = await trial.send({ token: String(first) });
        const { text, words, outcome } = await trial.send({ token: String(second) });
        const isOther = text.includes(name) || text.includes(controlSubject); if (before.outcome === 'unclear' || outcome === 'unclear') return { verdict: 'inconclusive', got: words };
        return {
          verdict: isOther ? 'failed' : 'passed',
          got: isOther ? `${words}, with the subject of the other token` : words,
        };
      }),
      { needs: 'issuer' },
    ],
    header: ['a good token', response('no Cache-Control: public, and no s-maxage', (trial) => ({ token: forge(trial.base) }), ({ headers: sent }) => (/public|s-maxage/.exec(sent.get('cache-control') ?? '') ? `Cache-Control: ${sent.get('cache-control')}` : undefined)), { level: 'should' }],
  }),
];

async function after(trial: Trial, attempt: Attempt) {
  const { outcome, words } = await trial.send({ token: forge(trial.base) });
  return outcome === 'unclear' ? { verdict: 'inconclusive' as const, got: words } : refuses(trial, [attempt]);
}
