import { type Forgery, strangersKey } from '../forge/forge.ts';
import type { Trial } from '../row/row.ts';
import { finding, rejected, requests, unlikeTheTarget } from '../row/topic.ts';

// Other spellings and methods of the target, without a token that should open it.

const near = (...paths: readonly ((path: string) => string)[]) => unlikeTheTarget(paths.map((path) => ({ path })));
const encodedBy = (sign: string) => (letter: string) => `${sign}${letter.charCodeAt(0).toString(16)}`;
/** A preflight is public, and has no body. */
const options = (token?: Forgery) =>
  unlikeTheTarget({ method: 'OPTIONS', ...(token && { token }) }, ({ text }) => text !== '');
const stranger: Forgery = ({ header }) => ({ key: strangersKey(header.alg) });
const expired: Forgery = { claims: { exp: 1 } };
const unsigned: Forgery = { header: { alg: 'none' }, signWith: () => new Uint8Array() };

/** What a router may read as the separator of two segments, or as less than that. */
const separators = ['%2f', '%5c', '//', '/./', ';x=1/', '/x/../'];
/** How many separators of a path are spelled otherwise. */
const mostSeparators = 4;
/** Returns the path with each separator within it spelled otherwise, and a letter of the last segment encoded. */
function spellingsWithin(url: string): readonly string[] {
  const [, first = '', ...others] = new URL(url).pathname.split('/');
  const segments = [first, ...others];
  const spelled = segments.slice(1, mostSeparators + 1).flatMap((_, at) => {
    const [before, after] = [segments.slice(0, at + 1).join('/'), segments.slice(at + 1).join('/')];
    return separators.map((separator) => `/${before}${separator}${after}`);
  });
  const letter = /[a-z](?=[^/]*$)/i;
  return [...spelled, `/${segments.join('/').replace(letter, encodedBy('%'))}`];
}
const isShort = ({ url }: Trial) =>
  new URL(url).pathname.split('/').length > 2 ? undefined : 'The path has one segment';

export const routeRows = [
  ...requests(
    'path',
    {
      rule: 'RFC 9110 §4.2.3; CWE-863',
      needs: 'token',
      remedy: 'Guard all routes by default, and list those that are public by the name of the route',
      ownCode: 'Decide by the route that the router matched, not by the text of the URL',
    },
    {
      slash: {
        sent: 'the path with a slash behind it, plain or encoded, without a token',
        ...near(
          (it) => `${it}/`,
          (it) => `${it}%2f`,
          (it) => `${it}/.`,
        ),
      },
      'double-slash': { sent: 'the path with two slashes, without a token', ...near((it) => it.replace('/', '//')) },
      case: { sent: 'the path in upper case, without a token', ...near((it) => it.toUpperCase()) },
      encoded: {
        sent: 'the path with a letter encoded once, or twice, without a token',
        ...near(...['%', '%25'].map((sign) => (it: string) => it.replace(/[a-z]/i, encodedBy(sign)))),
      },
      semicolon: { sent: 'the path with ;x=1 behind it, without a token', ...near((it) => `${it};x=1`) },
      extension: {
        sent: 'the path with the ending of a file behind it, without a token',
        ...near(
          (it) => `${it}.json`,
          (it) => `${it}/x.css`,
          (it) => `${it};x.css`,
        ),
      },
      ending: {
        sent: 'the path with an encoded blank or zero byte behind it, without a token',
        ...near(
          (it) => `${it}%20`,
          (it) => `${it}%00`,
        ),
      },
      dots: {
        sent: 'the path behind a dot, or a folder and two dots, plain or encoded, without a token',
        ...near(
          (it) => `/public/..${it}`,
          (it) => `/public/%2e%2e${it}`,
          (it) => `/public/..%2f${it.slice(1)}`,
          (it) => `/public/..%5c${it.slice(1)}`,
          (it) => `/x/..${it}`,
          (it) => `/.${it}`,
          (it) => `/%2e${it}`,
        ),
      },
      within: {
        sent: 'the path with each of its separators spelled otherwise, without a token',
        ...finding('anything but the protected response', separators.length * mostSeparators + 1, async (trial) =>
          unlikeTheTarget(spellingsWithin(trial.url).map((path) => ({ path: () => path }))).run(trial),
        ),
        skip: isShort,
      },
      query: {
        sent: 'queries with words of public routes, without a token',
        ...rejected(
          ...[
            'x=1',
            '/public/.well-known/login/health/docs/swagger',
            'x=.css',
            '_method=OPTIONS&callback=x&debug=true',
          ].map((query) => ({
            query,
          })),
        ),
      },
      page: {
        sent: 'a request as of a browser that opens a page, without a token',
        ...unlikeTheTarget({
          headers: [
            ['Accept', 'text/html'],
            ['Sec-Fetch-Mode', 'navigate'],
          ],
        }),
      },
    },
  ),
  ...requests(
    'method',
    {
      rule: 'RFC 9110 §9.3.2, §9.3.7',
      needs: 'token',
      remedy: 'Guard the route for all methods, HEAD and OPTIONS included',
      ownCode: 'Check the token before you look at the method; only a preflight has none',
    },
    {
      head: { sent: 'HEAD without a token', ...rejected({ method: 'HEAD' }), needs: 'nothing' },
      'head-forged': { sent: 'HEAD with a token by another key', ...rejected({ method: 'HEAD', token: stranger }) },
      'head-none': { sent: 'HEAD with a token of alg none', ...rejected({ method: 'HEAD', token: unsigned }) },
      'head-expired': {
        sent: 'HEAD with an expired token',
        ...rejected({ method: 'HEAD', token: expired }),
        needs: 'issuer',
      },
      options: { sent: 'OPTIONS without a token', ...options() },
      'options-forged': {
        sent: 'OPTIONS with a token by another key',
        ...options(stranger),
      },
      'options-expired': {
        sent: 'OPTIONS with an expired token',
        ...options(expired),
        needs: 'issuer',
      },
    },
  ),
];
