import { nowSeconds } from '../../issuer/signer.ts';
import { changePart } from '../forge.ts';
import { type Attempt, accepted, controlSubject, finding, isBearer, type Row, refused, refuses, response, type Trial, topic } from '../row.ts';

// Where a token is, how the header spells it, and what the paths and caches around it do.

const header = (name: string, value: string): Attempt => ({ headers: [[name, value]] });
/** A request with these Authorization headers. */
const authorization = (...values: readonly string[]): Attempt => ({ headers: values.map((value) => ['Authorization', value]) });
const each = (...values: readonly string[]) => refused(...values.map((value) => authorization(value)));
const cookie = (name: string) => header('Cookie', `${name}=TOKEN`);
/** The path in another spelling, without a token: what a good token gets must not come. */
const near = (path: (path: string) => string) =>
  response('anything but the protected response', { path }, ({ outcome, text, words }, { good }) => (outcome === 'served' && good !== undefined && text !== '' && text === good.text ? words : undefined));
const badSignature: Attempt = { token: changePart(2, () => 'AAAA') };
/** A good token, and then this. */
const after = (attempt: Attempt) =>
  finding('a refusal of the second', async (trial) => {
    const { outcome, words } = await trial.send({ token: {} });
    return outcome === 'unclear' ? { verdict: 'inconclusive', got: words } : refuses(trial, attempt);
  });
const givenToken = (name: string) => [({ given }: Trial['base']) => String(given?.[name])] as const;
const isGiven = (name: string) => ({ skip: ({ base }: Trial) => (base.given?.[name] === undefined ? 'No such token was given' : undefined) });

// biome-ignore format: a row is a line.
export const credentials: readonly Row[] = [
  ...topic('given', { rule: 'RFC 6750 §3.1', needs: 'token', remedy: 'Check exp, aud, scope and the kind of each token' }, {
    expired: ['a token that has expired', givenToken('expired'), isGiven('expired')],
    audience: ['a token for another audience', givenToken('audience'), isGiven('audience')],
    scope: ['a token without the scope', givenToken('scope'), isGiven('scope')],
    id: ['an ID token', givenToken('id'), isGiven('id')],
  }),
  ...topic('no-token', { rule: 'RFC 6750 §2, §3', needs: 'nothing', remedy: 'Guard the route, and every method and spelling of it' }, {
    'empty-header': ['an empty Authorization header', each('', ' \t ')],
    head: ['HEAD without a token', refused({ method: 'HEAD' })],
    'other-headers': ['headers that mislead: X-Original-URL, X-HTTP-Method-Override, Forwarded … (CWE-290)', refused(...['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix', 'Forwarded'].map((name) => header(name, '/')), header('X-HTTP-Method-Override', 'OPTIONS'))],
    'trusted-headers': ['headers of a proxy that name a user (CWE-290)', refused(...['X-Forwarded-User', 'X-Remote-User', 'X-Auth-Request-User', 'X-Authenticated-Userid'].map((name) => header(name, 'admin')))],
    preflight: ['GET with the headers of a preflight', refused({ headers: [['Origin', 'https://spa.invalid'], ['Access-Control-Request-Method', 'GET']] })],
  }),
  ...topic('path', { rule: 'RFC 9110 §4.2.3; CWE-863', needs: 'token', remedy: 'Guard what the router matches, not what the URL looks like' }, {
    slash: ['the path with a slash behind it, without a token', near((it) => `${it}/`)],
    'double-slash': ['the path with two slashes, without a token', near((it) => it.replace('/', '//'))],
    case: ['the path in upper case, without a token', near((it) => it.toUpperCase())],
    encoded: ['the path with an encoded letter, without a token', near((it) => it.replace(/[a-z]/i, (letter) => `%${letter.charCodeAt(0).toString(16)}`))],
    semicolon: ['the path with ;x=1 behind it, without a token', near((it) => `${it};x=1`)],
    extension: ['the path with .json behind it, without a token', near((it) => `${it}.json`)],
    query: ['another query, without a token', refused({ query: 'x=1' })],
  }),
  ...topic('scheme', { rule: 'RFC 6750 §2.1; RFC 9110 §11.4', needs: 'token', level: 'should', remedy: 'Accept the scheme in any case, one space, and one token', skip: isBearer }, {
    'any-case': ['the scheme in other letters', accepted(authorization('bEaReR TOKEN')), { level: 'must', rule: 'RFC 9110 §11.1' }],
    'name-any-case': ['the name of the header in other letters', accepted(header('AUTHORIZATION', 'Bearer TOKEN')), { level: 'must', rule: 'RFC 9110 §5.1' }],
    spaces: ['several spaces behind the scheme', accepted(authorization('Bearer   TOKEN')), { rule: 'RFC 9110 §11.4' }],
    basic: ['a good token as Basic credentials', each('Basic TOKEN')],
    none: ['a good token without a scheme', each('TOKEN')],
    other: ['a good token of another scheme', each('Token TOKEN', 'JWT TOKEN', 'BearerToken TOKEN', 'XBearer TOKEN')],
    punctuation: ['punctuation behind the scheme', each('Bearer: TOKEN', 'Bearer=TOKEN', 'Bearer, TOKEN', '"Bearer" TOKEN')],
    joined: ['nothing between scheme and token', each('BearerTOKEN')],
    'beyond-ascii': ['a letter beyond ASCII in the scheme', each('B\u00e9arer TOKEN', 'Bearer\u00a0TOKEN')],
    dpop: ['a plain token with the scheme DPoP, and no proof', each('DPoP TOKEN'), { rule: 'RFC 9449 §7.1' }],
  }),
  ...topic('credentials', { rule: 'RFC 6750 §2.1, §3.1', needs: 'token', level: 'should', remedy: 'Reject a header that is not one scheme and one token', skip: isBearer }, {
    alone: ['the scheme alone', each('Bearer', 'Bearer \t '), { level: 'must', needs: 'nothing' }],
    'word-behind': ['a word behind a good token', each('Bearer TOKEN x', 'Bearer\tTOKEN\tx')],
    twice: ['a good token twice', each('Bearer TOKEN TOKEN', 'Bearer TOKEN,TOKEN')],
    'scheme-twice': ['the scheme twice', each('Bearer Bearer TOKEN')],
    'two-headers': ['two headers with a good token', refused(authorization('Bearer TOKEN', 'Bearer TOKEN')), { rule: 'RFC 9110 §5.3; RFC 6750 §2' }],
    'two-headers-bad': ['two headers, the second with a bad token', refused(authorization('Bearer TOKEN', 'Bearer e30.e30.e30')), { rule: 'RFC 9110 §5.3' }],
    'two-headers-basic': ['two headers, the second with Basic', refused(authorization('Bearer TOKEN', 'Basic dTpw')), { rule: 'RFC 9110 §5.3' }],
  }),
  ...topic('elsewhere', { rule: 'RFC 6750 §2.3; RFC 9700 §4.3.2', needs: 'token', level: 'should', remedy: 'Take tokens from the Authorization header only' }, {
    query: ['a good token in the query, as access_token', refused({ query: 'access_token=TOKEN' }), { profiles: { mcp: 'must', fapi2: 'must' } }],
    'query-names': ['a good token in the query, by other names', refused(...['token', 'jwt', 'authorization'].map((name) => ({ query: `${name}=TOKEN` })))],
    cookie: ['a good token in a cookie', refused(cookie('access_token'), cookie('token'), cookie('jwt')), { rule: 'RFC 6750 §2' }],
    'other-header': ['a good token in other headers', refused(header('X-Access-Token', 'TOKEN'), header('Proxy-Authorization', 'Bearer TOKEN')), { rule: 'RFC 6750 §2' }],
    body: ['a good token in the body of a form', refused({ body: 'access_token=TOKEN' }), { rule: 'RFC 6750 §2.2', profiles: { fapi2: 'must' }, skip: ({ method }) => (/GET|HEAD/.test(method) ? 'A request of this method has no body' : undefined) }],
  }),
  ...topic('cache', { rule: 'RFC 9111 §3.5; RFC 6750 §5.3', needs: 'token', remedy: 'Key no cache by the URL alone: Cache-Control: private or no-store, or Vary: Authorization' }, {
    anonymous: ['a good token, and then no token', after({})],
    'bad-token': ['a good token, and then one with another signature', after(badSignature)],
    subject: ['tokens of two subjects, one after the other', finding('no word of the first in the second', async (trial) => {
      const [first = '', second = ''] = ['a', 'b'].map((name) => `probe-${nowSeconds()}-${name}`);
      const before = await trial.send({ token: { claims: { sub: first } } });
      const { text, words, outcome } = await trial.send({ token: { claims: { sub: second } } });
      if (before.outcome === 'unclear' || outcome === 'unclear') return { verdict: 'inconclusive', got: words };
      // An API may list those who called it.
      const isOther = (text.includes(first) || text.includes(controlSubject)) && !text.includes(second);
      return isOther ? { verdict: 'failed', got: `${words}, with the subject of the other token` } : { verdict: 'passed', got: words };
    }), { needs: 'issuer' }],
    header: ['a good token', response('no Cache-Control: public, and no s-maxage', { token: {} }, ({ headers: sent }) => (/public|s-maxage/.exec(sent.get('cache-control') ?? '') ? `Cache-Control: ${sent.get('cache-control')}` : undefined)), { level: 'should' }],
  }),
];
