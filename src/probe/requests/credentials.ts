import { forge, strangersKey } from '../forge/forge.ts';
import type { Attempt } from '../row/row.ts';
import { accepted, finding, isBearer, rejected, rejects, requests } from '../row/topic.ts';

// Where a token is, and how the header spells it.

const header = (name: string, value: string): Attempt => ({ headers: [[name, value]] });
/** A request with these Authorization headers. */
const authorization = (...values: readonly string[]): Attempt => ({
  headers: values.map((value) => ['Authorization', value]),
});
const each = (...values: readonly string[]) => rejected(...values.map((value) => authorization(value)));
export const credentials = [
  ...requests(
    'scheme',
    {
      rule: 'RFC 6750 §2.1; RFC 9110 §11.4',
      needs: 'token',
      level: 'should',
      remedy: 'Let a library read the header, and put nothing before it that changes it',
      ownCode: 'Compare the scheme whole and without case, and take one token behind one or more spaces',
      skip: isBearer,
    },
    {
      'any-case': {
        sent: 'the scheme in other letters',
        ...accepted(authorization('bEaReR TOKEN')),
        level: 'must',
        rule: 'RFC 9110 §11.1',
      },
      'name-any-case': {
        sent: 'the name of the header in other letters',
        ...accepted(header('AUTHORIZATION', 'Bearer TOKEN')),
        level: 'must',
        rule: 'RFC 9110 §5.1',
      },
      spaces: {
        sent: 'several spaces behind the scheme',
        ...accepted(authorization('Bearer   TOKEN')),
        rule: 'RFC 9110 §11.4',
      },
      basic: {
        sent: 'a good token as Basic credentials, as the user and as the password',
        ...finding('a rejection (4xx)', 3, (trial) => {
          const token = forge(trial.base);
          const pairs = [`${token}:`, `user:${token}`].map((pair) => btoa(pair));
          return rejects(trial, ...['TOKEN', ...pairs].map((text) => authorization(`Basic ${text}`)));
        }),
      },
      none: { sent: 'a good token without a scheme', ...each('TOKEN') },
      other: {
        sent: 'a good token of another scheme',
        ...each('Token TOKEN', 'JWT TOKEN', 'BearerToken TOKEN', 'XBearer TOKEN'),
      },
      punctuation: {
        sent: 'punctuation behind the scheme',
        ...each('Bearer: TOKEN', 'Bearer=TOKEN', 'Bearer, TOKEN', '"Bearer" TOKEN'),
      },
      joined: { sent: 'nothing between scheme and token', ...each('BearerTOKEN') },
      'beyond-ascii': {
        sent: 'a letter beyond ASCII in the scheme',
        ...each('B\u00e9arer TOKEN', 'Bearer\u00a0TOKEN'),
      },
      dpop: { sent: 'a plain token with the scheme DPoP, and no proof', ...each('DPoP TOKEN'), rule: 'RFC 9449 §7.1' },
    },
  ),
  ...requests(
    'credentials',
    {
      rule: 'RFC 6750 §2.1, §3.1',
      needs: 'token',
      level: 'should',
      remedy: 'Let a library read the header, and reject requests with two Authorization headers',
      ownCode: 'Reject a header that is not one scheme and one token, and a second header',
      skip: isBearer,
    },
    {
      alone: {
        sent: 'the scheme alone',
        ...each('Bearer', 'Bearer \t '),
        level: 'must',
        needs: 'nothing',
        remedy: 'Reject a header that has the scheme and no token: here it skips the check',
        ownCode: 'Treat an empty token as a bad one, not as one that need not be checked',
      },
      'word-behind': { sent: 'a word behind a good token', ...each('Bearer TOKEN x', 'Bearer\tTOKEN\tx') },
      twice: { sent: 'a good token twice', ...each('Bearer TOKEN TOKEN', 'Bearer TOKEN,TOKEN') },
      'second-token': {
        sent: 'a good token and one by another key, with a comma between them',
        ...finding('a rejection (4xx)', 4, (trial) => {
          const other = forge(trial.base, ({ header }) => ({ key: strangersKey(header.alg) }));
          const pairs = [`TOKEN,${other}`, `${other},TOKEN`, `TOKEN, Bearer ${other}`, `${other}, Bearer TOKEN`];
          return rejects(trial, ...pairs.map((pair) => authorization(`Bearer ${pair}`)));
        }),
      },
      'scheme-twice': { sent: 'the scheme twice', ...each('Bearer Bearer TOKEN') },
      parameter: {
        sent: 'a good token as a parameter',
        ...each('Bearer token="TOKEN"', 'Bearer access_token=TOKEN'),
        rule: 'RFC 6750 §2.1',
      },
      'two-headers': {
        sent: 'two headers with a good token',
        ...rejected(authorization('Bearer TOKEN', 'Bearer TOKEN')),
        rule: 'RFC 9110 §5.3; RFC 6750 §2',
      },
      'two-headers-bad': {
        sent: 'two headers, one with a bad token',
        ...rejected(
          authorization('Bearer TOKEN', 'Bearer e30.e30.e30'),
          authorization('Bearer e30.e30.e30', 'Bearer TOKEN'),
        ),
        rule: 'RFC 9110 §5.3',
      },
      'two-headers-basic': {
        sent: 'two headers, one with Basic',
        ...rejected(authorization('Bearer TOKEN', 'Basic dTpw'), authorization('Basic dTpw', 'Bearer TOKEN')),
        rule: 'RFC 9110 §5.3',
      },
    },
  ),
  ...requests(
    'elsewhere',
    {
      rule: 'RFC 6750 §2.3; RFC 9700 §4.3.2',
      needs: 'token',
      level: 'should',
      remedy: 'Turn off other places for a token than the Authorization header',
      ownCode: 'Read the Authorization header and nothing else',
    },
    {
      query: {
        sent: 'a good token in the query, as access_token',
        ...rejected({ query: 'access_token=TOKEN' }),
        profiles: { mcp: 'must', fapi2: 'must' },
      },
      'query-names': {
        sent: 'a good token in the query, by other names',
        ...rejected({ query: ['token', 'jwt', 'authorization', 'auth'].map((name) => `${name}=TOKEN`).join('&') }),
      },
      cookie: {
        sent: 'a good token in cookies',
        ...rejected(
          header('Cookie', ['access_token', 'token', 'jwt', 'session'].map((name) => `${name}=TOKEN`).join('; ')),
        ),
        rule: 'RFC 6750 §2',
      },
      session: {
        sent: 'the cookies that a good response sets, without a token',
        ...finding('a rejection (4xx)', 1, async (trial) => {
          const cookies = trial.good?.headers.getSetCookie().map((cookie) => cookie.split(';')[0]) ?? [];
          if (cookies.length === 0) return { verdict: 'skipped', got: 'A good response sets no cookie' };
          return rejects(trial, header('Cookie', cookies.join('; ')));
        }),
        rule: 'RFC 6750 §2',
      },
      'other-header': {
        sent: 'a good token in other headers',
        ...rejected(
          {
            headers: ['X-Access-Token', 'X-Auth-Token', 'X-Forwarded-Access-Token', 'Token'].map((name) => [
              name,
              'TOKEN',
            ]),
          },
          {
            headers: ['Proxy-Authorization', 'X-Authorization', 'Authentication'].map((name) => [name, 'Bearer TOKEN']),
          },
        ),
        rule: 'RFC 6750 §2',
      },
      body: {
        sent: 'a good token in the body of a form',
        ...rejected({ body: 'access_token=TOKEN' }),
        rule: 'RFC 6750 §2.2',
        profiles: { fapi2: 'must' },
        skip: ({ method }) => (/GET|HEAD/.test(method) ? 'A request of this method has no body' : undefined),
      },
    },
  ),
];
