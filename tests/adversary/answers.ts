import { SCOPE } from '../support/mint.ts';

/** An answer that has the contract's shape, by what tells answers apart. */
export interface Answer {
  readonly status: number;
  /** The Error object's `code`; `accepted` for the Message object. */
  readonly code: string;
  /** Everything that a client sees of a response, to compare responses. */
  readonly text: string;
}

/** What a world may be configured with; challenges then name scopes with it. */
export const SCOPE_PREFIX = 'api/';

/** Every rejection of a protected path: its status, and the errors that its challenge may name. */
const REFUSALS: Readonly<Record<string, readonly [status: number, errors?: readonly (string | undefined)[]]>> = {
  authorization_header_missing: [401, [undefined]],
  invalid_header: [401, [undefined, 'invalid_request', 'invalid_token']],
  token_expired: [401, ['invalid_token']],
  invalid_claims: [401, ['invalid_token']],
  Unauthorized: [403, ['insufficient_scope']],
  key_set_unavailable: [503],
};
/** On a path that needs a scope, every challenge names it. */
const CHALLENGE = new RegExp(
  `^Bearer(?: error="(?<error>\\w+)", error_description="[^"\\\\]+")?(?:,? (?<scope>scope="(?:${SCOPE_PREFIX})?${SCOPE}"))?$`,
);

const ALWAYS: readonly (readonly [string, string])[] = [
  ['content-type', 'application/json'],
  ['access-control-allow-origin', '*'],
  ['cache-control', 'no-store'],
];

function isMessage(body: unknown): body is { readonly message: string } {
  return JSON.stringify(Object.keys(body ?? {})) === '["message"]' && typeof Object(body).message === 'string';
}

function isError(body: unknown): body is { readonly code: string; readonly description: string } {
  const { code, description, ...others } = Object(body);
  return typeof code === 'string' && /^[ !#-[\]-~]+$/.test(description) && Object.keys(others).length === 0;
}

/**
 * Returns the answer of a protected path, or throws where it is anything but what the contract knows: a status, a header, a member
 * too many. A plain function and not expect(), because a million answers go through it.
 */
export async function readAnswer(response: Response, needsScope: boolean): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  const challenge = headers.get('www-authenticate');
  const complain = (what: string) => {
    throw new Error(`${what}: ${status} ${text} ${JSON.stringify([...headers])}`);
  };
  for (const [name, value] of ALWAYS) if (headers.get(name) !== value) complain(`Wrong ${name}`);
  const answer = (code: string): Answer => ({ status, code, text: `${status} ${challenge} ${text}` });

  const body: unknown = JSON.parse(text);
  if (status === 200) {
    if (!isMessage(body) || challenge !== null) complain('Not a Message object');
    return answer('accepted');
  }
  if (!isError(body)) return complain('Not an Error object');
  const [wanted, errors] = REFUSALS[body.code] ?? [];
  if (wanted !== status) return complain('A code that does not go with its status');
  const { groups } = CHALLENGE.exec(challenge ?? '') ?? {};
  const isChallengeRight = errors ? groups && errors.includes(groups.error) : challenge === null;
  if (!isChallengeRight || (groups?.scope !== undefined) !== (needsScope && status !== 503))
    complain('Wrong challenge');
  if (status === 503 && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) complain('Wrong Retry-After');
  return answer(body.code);
}
