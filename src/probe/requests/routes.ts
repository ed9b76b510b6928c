import { type Forgery, strangersKey } from '../forge/forge.ts';
import type { Answer, Attempt } from '../row/row.ts';
import { refused, requests, response } from '../row/topic.ts';

// Other spellings and methods of the target, without a token that should open it.

/** What a good token gets must not come. A spelling may be another route, which is public. */
const unlikeTheTarget = (attempt: Attempt, isFault: (answer: Answer) => boolean = () => true) =>
  response('anything but the protected response', attempt, (answer, { isProtected }) =>
    isProtected(answer) && isFault(answer) ? answer.words : undefined,
  );
const near = (path: (path: string) => string) => unlikeTheTarget({ path });
/** A preflight is public, and has no body. */
const options = (token?: Forgery) =>
  unlikeTheTarget({ method: 'OPTIONS', ...(token && { token }) }, ({ text }) => text !== '');
const stranger: Forgery = ({ header }) => ({ key: strangersKey(header.alg) });
const expired: Forgery = { claims: { exp: 1 } };

export const routeRows = [
  ...requests(
    'path',
    {
      rule: 'RFC 9110 §4.2.3; CWE-863',
      needs: 'token',
      remedy: 'Guard what the router matches, not what the URL looks like',
    },
    {
      slash: { sent: 'the path with a slash behind it, without a token', ...near((it) => `${it}/`) },
      'double-slash': { sent: 'the path with two slashes, without a token', ...near((it) => it.replace('/', '//')) },
      case: { sent: 'the path in upper case, without a token', ...near((it) => it.toUpperCase()) },
      encoded: {
        sent: 'the path with an encoded letter, without a token',
        ...near((it) => it.replace(/[a-z]/i, (letter) => `%${letter.charCodeAt(0).toString(16)}`)),
      },
      semicolon: { sent: 'the path with ;x=1 behind it, without a token', ...near((it) => `${it};x=1`) },
      extension: { sent: 'the path with .json behind it, without a token', ...near((it) => `${it}.json`) },
      dots: {
        sent: 'the path behind a public-looking folder and two dots, without a token',
        ...near((it) => `/public/..${it}`),
      },
      query: { sent: 'another query, without a token', ...refused({ query: 'x=1' }) },
    },
  ),
  ...requests(
    'method',
    { rule: 'RFC 9110 §9.3.2, §9.3.7', needs: 'token', remedy: 'Check the token of each method that the route serves' },
    {
      head: { sent: 'HEAD without a token', ...refused({ method: 'HEAD' }), needs: 'nothing' },
      'head-forged': { sent: 'HEAD with a token by another key', ...refused({ method: 'HEAD', token: stranger }) },
      'head-expired': {
        sent: 'HEAD with an expired token',
        ...refused({ method: 'HEAD', token: expired }),
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
