import { expect } from 'bun:test';
import { SCOPE } from './mint.ts';

/** The content of `WWW-Authenticate`: `bare` is a challenge without `error`, the others name the error. */
export type Challenge = 'bare' | 'invalid_request' | 'invalid_token' | 'insufficient_scope';

const CHALLENGES: Readonly<Record<string, Challenge>> = {
  authorization_header_missing: 'bare',
  invalid_header: 'invalid_token',
  token_expired: 'invalid_token',
  invalid_claims: 'invalid_token',
  Unauthorized: 'insufficient_scope',
};

/** Printable ASCII without quotes or backslash: safe in a header's quoted string and in a log line alike. */
const PLAIN_TEXT = /^[ !#-[\]-~]+$/;
/** RFC 9110 §11.2: parameters of one challenge, each value a quoted string here. */
const BEARER_CHALLENGE = /^Bearer(?: (?<parameters>[a-z_]+="[^"\\]*"(?:, ?[a-z_]+="[^"\\]*")*))?$/;

const membersOf = (list: string | null) => list?.toLowerCase().split(/, */).sort();

/** Returns the parameters of the only challenge. Fails if the header contains anything else. */
export function challengeOf(response: Response): Readonly<Record<string, string>> {
  const header = response.headers.get('www-authenticate') ?? '';
  expect(header).toMatch(BEARER_CHALLENGE);
  const parameters = BEARER_CHALLENGE.exec(header)?.groups?.parameters ?? '';
  const pairs = [...parameters.matchAll(/([a-z_]+)="([^"\\]*)"/g)].map(([, ...pair]) => pair);
  const named: Record<string, string> = Object.fromEntries(pairs);
  expect(Object.keys(named), 'no parameter twice').toHaveLength(pairs.length);
  return named;
}

/** Fails unless pages of any origin may read this response, without credentials. */
export function expectCrossOrigin(response: Response): void {
  const { headers } = response;
  expect(headers.get('access-control-allow-origin')).toBe('*');
  expect(headers.get('access-control-allow-credentials')).toBeNull();
  expect(membersOf(headers.get('access-control-expose-headers'))).toEqual([
    'retry-after',
    'www-authenticate',
    ...(headers.has('x-request-id') ? ['x-request-id'] : []),
  ]);
  expect(headers.get('vary')).not.toBe('*');
}

/** Fails unless the preflight allows exactly these methods and the headers that the contract names, for a day. */
export function expectPreflight(response: Response, methods = 'GET, HEAD'): void {
  const { headers } = response;
  expect(response.ok, `preflight: status ${response.status}`).toBe(true);
  expectCrossOrigin(response);
  expect(membersOf(headers.get('access-control-allow-headers'))).toEqual(['authorization', 'content-type']);
  expect(membersOf(headers.get('access-control-allow-methods'))).toEqual(membersOf(methods));
  expect(headers.get('access-control-max-age')).toBe('86400');
}

function expectChallenge(response: Response, challenge: Challenge): void {
  const { resource_metadata: _, error, error_description: description, scope, ...others } = challengeOf(response);
  // Every challenge of a scoped route names the scope, with SCOPE_PREFIX if there is one.
  if (scope !== undefined || challenge === 'insufficient_scope') expect(String(scope)).toEndWith(SCOPE);
  expect({ error, others }).toEqual({ error: challenge === 'bare' ? undefined : challenge, others: {} });
  if (challenge === 'bare') expect(description).toBeUndefined();
  else if (description !== undefined) expect(description).toMatch(PLAIN_TEXT);
}

/** Fails unless the response has the headers of all responses of protected paths. */
export function expectProtected(response: Response): void {
  expectCrossOrigin(response);
  expect(response.headers.get('cache-control')).toBe('no-store');
}

/**
 * Fails unless this is the Error object in full: status, code, body and headers, with the challenge of the code or the
 * one given.
 */
export async function expectError(
  response: Response,
  status: number,
  code: string,
  challenge: Challenge | undefined = CHALLENGES[code],
): Promise<void> {
  const text = await response.text();
  expect({ status: response.status, text }).toEqual({ status, text: expect.stringContaining(`"${code}"`) });
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(JSON.parse(text)).toEqual({ code, description: expect.stringMatching(PLAIN_TEXT) });
  if (challenge === undefined) expect(response.headers.get('www-authenticate')).toBeNull();
  else expectChallenge(response, challenge);
  if ([401, 403, 503].includes(status)) expectProtected(response);
  else expectCrossOrigin(response);
}

export async function expectMessage(response: Response): Promise<string> {
  const text = await response.text();
  expect({ status: response.status, text }).toEqual({ status: 200, text: expect.stringContaining('"message"') });
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('www-authenticate')).toBeNull();
  expectCrossOrigin(response);
  const body: { message: string } = JSON.parse(text);
  expect(body).toEqual({ message: expect.stringMatching(/\S/) });
  return body.message;
}
