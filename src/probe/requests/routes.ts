import { refused, requests, response } from '../row/topic.ts';

// Other spellings of the target, without a token.

/** The path in another spelling, without a token: what a good token gets must not come. */
const near = (path: (path: string) => string) =>
  response('anything but the protected response', { path }, ({ outcome, text, words }, { good }) =>
    outcome === 'served' && good !== undefined && text !== '' && text === good.text ? words : undefined,
  );
export const routeRows = requests(
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
    query: { sent: 'another query, without a token', ...refused({ query: 'x=1' }) },
  },
);
