import { type Challenge, challengesIn, firstParameter, tokenChallengesIn } from '../http/challenges.ts';
import type { Answer, Attempt, Trial } from '../row/row.ts';
import { type Fault, isScoped, requests, response } from '../row/topic.ts';
import { printable } from '../values/text.ts';

// What the challenge of a rejection says (RFC 6750 §3, RFC 9110 §11.6.1).

/** What several rows send is sent once. */
export const none: Attempt = {};
export const garbage: Attempt = { headers: [['Authorization', 'Bearer e30.e30.e30']] };
const both = [none, garbage];
const malformed: Attempt = { headers: [['Authorization', 'Bearer a b']] };
/** The challenges of Bearer and DPoP. */
const ofTokens = (answer: Answer): readonly Challenge[] =>
  tokenChallengesIn(answer.headers.get('www-authenticate')) ?? [];
const said = (answer: Answer) =>
  printable(`${answer.status} ${answer.headers.get('www-authenticate') ?? 'without WWW-Authenticate'}`);
/** Decides about a 401 only: an API may answer 403 or 404 instead. */
const of401 =
  (fault: (answer: Answer, trial: Trial) => string | boolean | undefined) => (answer: Answer, trial: Trial) => {
    const found = answer.status === 401 && fault(answer, trial);
    return found ? (found === true ? said(answer) : found) : undefined;
  };
/** Decides about a challenge that can be parsed. One that cannot, or is missing, is a fault of one row. */
const ofParsed =
  (fault: (answer: Answer, trial: Trial) => string | boolean | undefined) =>
  (answer: Answer, trial: Trial): Fault => {
    const header = answer.headers.get('www-authenticate');
    const isRead = header === null ? answer.status !== 401 : challengesIn(header) !== undefined;
    if (!isRead) return { verdict: 'skipped', got: 'There is no challenge that can be parsed' };
    return of401(fault)(answer, trial);
  };
const isPresent = of401((answer) => answer.headers.get('www-authenticate') === null);
const hasScheme = ofParsed((answer) => ofTokens(answer).length === 0);
const isParsed = of401((answer) => challengesIn(answer.headers.get('www-authenticate')) === undefined);
const value = (answer: Answer, name: string) => firstParameter(ofTokens(answer), name);
const expired: Attempt = { token: { claims: { exp: 1 } } };
const wrongScope: Attempt = { token: { claims: { scope: '' } } };

export const challengeRows = requests(
  'challenge',
  { rule: 'RFC 6750 §3; RFC 9110 §11.6.1', needs: 'nothing', remedy: 'Send WWW-Authenticate: Bearer with every 401' },
  {
    present: {
      sent: 'no token, and text that is not a token',
      ...response('WWW-Authenticate with a 401', both, isPresent),
      rule: 'RFC 9110 §15.5.2',
    },
    scheme: {
      sent: 'no token, and text that is not a token',
      ...response('the scheme Bearer or DPoP', both, hasScheme),
    },
    syntax: {
      sent: 'no token, and text that is not a token',
      ...response('a challenge that can be parsed', both, isParsed),
      rule: 'RFC 9110 §11.2, §11.3',
    },
    'no-error': {
      sent: 'no token',
      ...response(
        'a challenge without error',
        none,
        ofParsed((answer) => value(answer, 'error') !== undefined),
      ),
      level: 'should',
      rule: 'RFC 6750 §3.1',
      remedy: 'Send no error if the request has no token',
    },
    'invalid-token': {
      sent: 'text that is not a token',
      ...response(
        'error="invalid_token"',
        garbage,
        ofParsed((answer) => !/^invalid_(?:token|request)$/.test(value(answer, 'error') ?? '')),
      ),
      level: 'should',
      rule: 'RFC 6750 §3.1',
      remedy: 'Add error="invalid_token" to the challenge of a bad token',
    },
    'invalid-request': {
      sent: 'a malformed header',
      ...response('400 or 401, with invalid_request', malformed, (answer) =>
        answer.outcome === 'rejected' && ![400, 401].includes(answer.status) ? said(answer) : undefined,
      ),
      level: 'should',
      rule: 'RFC 6750 §3.1',
      remedy: 'Respond to a malformed header with 400 and error="invalid_request", or as to a bad token',
    },
    'status-no-token': {
      sent: 'no token',
      ...response('401', none, (answer) => (answer.status === 401 ? undefined : said(answer))),
      level: 'should',
      rule: 'RFC 6750 §3.1',
      remedy: 'Respond with 401, not 403 or 404, if there is no token',
    },
    'status-bad-token': {
      sent: 'text that is not a token',
      ...response('401', garbage, (answer) =>
        answer.status === 401 || answer.status === 400 ? undefined : said(answer),
      ),
      level: 'should',
      rule: 'RFC 6750 §3.1',
      remedy: 'Respond with 401, not 403 or 404, to a bad token',
    },
    'status-expired': {
      sent: 'a token that has expired',
      ...response('401', expired, (answer) =>
        answer.outcome === 'rejected' && answer.status !== 401 ? said(answer) : undefined,
      ),
      level: 'should',
      needs: 'issuer',
      rule: 'RFC 6750 §3.1',
      remedy: 'Respond with 401, not 403, to an expired token: a client renews its token after a 401 only',
    },
    'no-repetition': {
      sent: 'text that is not a token',
      ...response(
        'each parameter once',
        garbage,
        ofParsed((answer) => ofTokens(answer).some(({ parameters }) => new Map(parameters).size !== parameters.length)),
      ),
      remedy: 'Write each parameter of a challenge once',
    },
    characters: {
      sent: 'text that is not a token',
      ...response(
        'printable ASCII without quotes in error and error_description',
        garbage,
        ofParsed(
          (answer) =>
            !/^[ !#-[\]-~]*$/.test(`${value(answer, 'error') ?? ''}${value(answer, 'error_description') ?? ''}`),
        ),
      ),
      remedy: 'Write error and error_description in ASCII, without quotes and backslashes',
    },
    'scope-status': {
      sent: 'a token without the scope',
      ...response('403', wrongScope, (answer) => (answer.status === 403 ? undefined : said(answer))),
      level: 'should',
      needs: 'issuer',
      rule: 'RFC 6750 §3.1',
      skip: isScoped,
      remedy: 'Respond with 403 to a good token without the scope',
    },
    'scope-error': {
      sent: 'a token without the scope',
      ...response('error="insufficient_scope"', wrongScope, (answer, trial) =>
        answer.status !== 403 || value(answer, 'error') === 'insufficient_scope'
          ? undefined
          : (ofParsed(() => undefined)(answer, trial) ?? said(answer)),
      ),
      level: 'should',
      needs: 'issuer',
      rule: 'RFC 6750 §3.1',
      skip: isScoped,
      remedy: 'Add error="insufficient_scope" and the scope to the challenge of that 403',
    },
    'resource-metadata': {
      sent: 'no token',
      ...response(
        'resource_metadata',
        none,
        ofParsed((answer, { metadata }) => metadata !== undefined && value(answer, 'resource_metadata') === undefined),
      ),
      level: 'should',
      rule: 'RFC 9728 §5.1',
      profiles: { mcp: 'must' },
      skip: ({ metadata, profile }) => (metadata || profile === 'mcp' ? undefined : 'There are no metadata (RFC 9728)'),
      remedy: 'Add resource_metadata with the URL of the metadata to the challenge',
    },
  },
);
