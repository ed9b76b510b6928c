import { changePart, type Forgery, strangersKey } from '../forge/forge.ts';
import type { Attempt } from '../row/row.ts';
import { requests, response } from '../row/topic.ts';
import { printable } from '../values/text.ts';
import { garbage, none } from './challenges.ts';

// What a rejection must not say, and how it fits other responses.

/** A line of a trace, also within JSON. A server chooses the text, so what is repeated is bounded. */
const frame =
  /(?:^|\n|\\n)[ \t]{0,16}at (?:[^\s()]{1,80} ){0,3}\(?[^\s()]{0,200}[/\\.:][^\s():]{1,100}:\d{1,6}:\d{1,6}\)?(?=$|\s|\\n|")/;
const stack = new RegExp(`${frame.source}|Traceback \\(most recent|\\.(?:java|py|rb|go|cs):\\d{1,6}\\b|node_modules/`);
const noStack = (attempts: Attempt | readonly Attempt[]) =>
  response('no stack trace', attempts, ({ text }) =>
    stack.test(text) ? `a body with ${printable(stack.exec(text)?.[0] ?? '', 80)}` : undefined,
  );

const badSignature: Attempt = { token: changePart(2, () => 'AAAA') };
const named: Forgery = ({ header }) => ({
  key: strangersKey(header.alg),
  header: { kid: 'probed-member-kid' },
  claims: { iss: 'https://probed-member-iss.invalid/', sub: 'probed-member-sub' },
});

export const responses = [
  ...requests(
    'leak',
    {
      rule: 'CWE-209; RFC 9700 §4.3',
      needs: 'nothing',
      level: 'should',
      remedy: 'Turn off details of errors in production, send a fixed text, and log the cause',
    },
    {
      stack: {
        sent: 'tokens that are none',
        ...noStack([garbage, { headers: [['Authorization', 'Bearer eyJ.eyJ.AAAA']] }]),
      },
      token: {
        sent: 'text that is not a token',
        ...response(
          'no token in the response',
          { headers: [['Authorization', 'Bearer e30.cHJvYmVkLXRva2Vu.e30']] },
          ({ text, headers }) =>
            `${text}${[...headers].join()}`.includes('cHJvYmVkLXRva2Vu') ? 'a response with the token' : undefined,
        ),
      },
      members: {
        sent: 'a token that nobody signed, with names in its kid, iss and sub',
        ...response('no such name in the response', { token: named }, ({ text, headers }) => {
          const [, member] = /probed-member-(kid|iss|sub)/.exec(`${text}${[...headers].join()}`) ?? [];
          return member && `a response with its ${member}`;
        }),
      },
      'bad-signature': {
        sent: 'a good token with another signature',
        ...noStack(badSignature),
      },
    },
  ),
  ...requests(
    'manners',
    { rule: 'RFC 9110 §9.3.2', needs: 'token', level: 'should', remedy: 'Respond to HEAD as to GET' },
    {
      head: {
        sent: 'HEAD with a good token',
        ...response('the status of GET, or 405', { token: {}, method: 'HEAD' }, ({ status, words }, { good }) =>
          status === good?.status || status === 405 || status === 404 ? undefined : words,
        ),
        skip: ({ method }) => (method === 'GET' ? undefined : 'The method is not GET'),
      },
      'cors-refusal': {
        sent: 'no token, from a page of another origin',
        ...response(
          'the same Access-Control-Allow-Origin as a success',
          { headers: [['Origin', 'https://spa.invalid']] },
          ({ status, headers }, { good }) =>
            status === 401 &&
            good?.headers.get('access-control-allow-origin') === '*' &&
            headers.get('access-control-allow-origin') === null
              ? 'no Access-Control-Allow-Origin'
              : undefined,
        ),
        rule: 'Fetch §3.3',
        remedy: 'Let rejections have the CORS headers, too',
      },
      'cors-credentials': {
        sent: 'a good token, from a page of an origin that nobody knows',
        ...response(
          'no Access-Control-Allow-Credentials for that origin',
          { token: {}, headers: [['Origin', 'https://spa.invalid']] },
          ({ headers }) =>
            headers.get('access-control-allow-origin') === 'https://spa.invalid' &&
            headers.get('access-control-allow-credentials') === 'true'
              ? 'Access-Control-Allow-Credentials: true'
              : undefined,
        ),
        rule: 'Fetch §3.3.5; CWE-942',
        remedy: 'Allow credentials to listed origins only; a bearer token needs none',
      },
      'no-success-body': {
        sent: 'no token, and a good token with another signature',
        ...response('no part of the protected response', [none, badSignature], (answer, { isShown }) =>
          answer.outcome === 'rejected' && isShown(answer) ? 'what a good token gets' : undefined,
        ),
        rule: 'CWE-698; RFC 6750 §3',
        remedy: 'End the response after a rejection',
      },
    },
  ),
];
