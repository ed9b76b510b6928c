import { base64url } from 'jose';
import { Refusal, refuse } from '../refusals.ts';
import type { Claims, GuardOptions } from '../types.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { isJsonObject, type Members, parseJsonObject } from '../values/json.ts';
import { Limited, type WithinLimit } from '../values/time-limit.ts';
import { readClaims } from './claims.ts';
import { maxTokenLength } from './header.ts';
import type { Trusts } from './trust.ts';

interface IntrospectionParts extends Pick<TimeAndRandom, 'now'> {
  readonly trusts: Trusts;
  readonly withinLimit: WithinLimit;
}

type Introspected = { readonly claims: Claims } | Refusal;

/**
 * Returns a function that asks the application about a token, and checks the response as the claims of a JWT are (RFC 7662
 * §2.2). It returns undefined for a JWT and for a token that is too long: these never go to the application. Nothing is kept.
 */
export function createIntrospection(
  introspect: NonNullable<GuardOptions['introspect']>,
  { trusts: { sole, of }, withinLimit, now }: IntrospectionParts,
): (token: string) => Promise<Introspected> | undefined {
  async function ask(token: string): Promise<Introspected> {
    const limited = new Limited();
    const response = await responseOf(() => withinLimit(limited, introspect(token, limited)));
    if (!isJsonObject(response)) return refuse('introspection_unavailable');
    if (response.active !== true || lacksKey(response)) return refuse('token_inactive');
    const { iss = sole?.rules.issuer } = response;
    const claims = readClaims({ ...response, iss }, (sole ?? of(iss))?.rules, now() / 1000);
    return claims instanceof Refusal ? claims : { claims };
  }

  return (token) => (token.length > maxTokenLength || isJwt(token) ? undefined : ask(token));
}

/** RFC 9449 §6.2: the response for a DPoP-bound token names its key. Without it, anyone could use the token. */
const lacksKey = ({ token_type: type, cnf }: Members) =>
  typeof type === 'string' && type.toLowerCase() === 'dpop' && !(isJsonObject(cnf) && typeof cnf.jkt === 'string');

/** Whether a text has the form of a JWS or JWE whose header is a JSON object (RFC 7515 §7.1, RFC 7516 §7.1). */
function isJwt(token: string): boolean {
  const [header = '', ...rest] = token.split('.', 6);
  if (rest.length !== 2 && rest.length !== 4) return false;
  try {
    return parseJsonObject(base64url.decode(header)) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Resolves to what the application responds, as JSON carries it: a copy, because the application may keep and change its own, in
 * which a member that is undefined is missing. Undefined if there is none, or if JSON cannot carry it, such as a cycle.
 */
export async function responseOf(introspect: () => unknown): Promise<unknown> {
  try {
    // As JSON alone, an object of another kind, such as a Response, would be an empty one. It cannot be cloned.
    return JSON.parse(JSON.stringify(structuredClone(await introspect())));
  } catch {
    return undefined;
  }
}
