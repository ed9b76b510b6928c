import { SCOPE } from '../support/mint.ts';

/** An answer that has the contract's shape, by what tells answers apart. */
export interface Answer {
  readonly status: number;
  /** The Error object's `code`; `accepted` for the Message object. */
  readonly code: string;
  /** Everything that a client sees of a response, to compare responses. */
  readonly text: string;
}

/** What some worlds are configured with; challenges then name scopes with it. */
export const SCOPE_PREFIX = 'api/';

/** Every challenge of a scoped route names the scope. */
const scope = `scope="(?:${SCOPE_PREFIX})?${SCOPE}"`;
const challenge = (error: string) =>
  new RegExp(`^Bearer error="${error}", error_description="[^"\\\\]+"(?:, ${scope})?$`);

/** Every rejection of a protected path: its status and its challenge. */
const REFUSALS: Readonly<Record<string, { readonly status: number; readonly challenge: RegExp | null }>> = {
  authorization_header_missing: { status: 401, challenge: new RegExp(`^Bearer(?: ${scope})?$`) },
  invalid_header: {
    status: 401,
    challenge: new RegExp(`${challenge('invalid_(?:request|token)').source}|^Bearer(?: ${scope})?$`),
  },
  token_expired: { status: 401, challenge: challenge('invalid_token') },
  invalid_claims: { status: 401, challenge: challenge('invalid_token') },
  Unauthorized: {
    status: 403,
    challenge: new RegExp(`^Bearer error="insufficient_scope", error_description="[^"\\\\]+", ${scope}$`),
  },
  key_set_unavailable: { status: 503, challenge: null },
};

const ALWAYS: readonly (readonly [string, string])[] = [
  ['content-type', 'application/json'],
  ['access-control-allow-origin', '*'],
  ['cache-control', 'no-store'],
];

/** Where a scope is required, each challenge ends with it (RFC 6750 §3). */
const NAMED_SCOPE = new RegExp(`,? scope="(?:${SCOPE_PREFIX})?${SCOPE}"$`);

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
export async function readAnswer(response: Response, isScoped: boolean): Promise<Answer> {
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
  const refusal = REFUSALS[body.code];
  if (refusal?.status !== status) return complain('A code that does not go with its status');
  const isNamed = isScoped && status === 401;
  if (isNamed && !NAMED_SCOPE.test(challenge ?? '')) complain('A challenge without the scope');
  const others = isNamed ? challenge?.replace(NAMED_SCOPE, '') : challenge;
  if (refusal.challenge ? !refusal.challenge.test(others ?? '') : challenge !== null) complain('Wrong challenge');
  if (status === 503 && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) complain('Wrong Retry-After');
  return answer(body.code);
}
