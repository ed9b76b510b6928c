import * as base64url from 'jose/base64url';
import { maxTokenLength, Rejected, rejectFor } from '../rejections.ts';
import type { Claims, GuardOptions } from '../types.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { createFaultWarning, ifPossible, nameOfFault } from '../values/faults.ts';
import { isJsonObject, type Members, parseJsonObject, withoutNulls } from '../values/json.ts';
import { promised } from '../values/promises.ts';
import { Limited, type WithinLimit } from '../values/time-limit.ts';
import { readClaims } from './claims.ts';
import type { Trusts } from './trust.ts';

interface IntrospectionParts extends Pick<TimeAndRandom, 'now'>, Pick<GuardOptions, 'introspect'> {
  readonly trusts: Trusts;
  readonly withinLimit: WithinLimit;
}

type Introspected = { readonly claims: Claims } | Rejected;

/**
 * Returns a function that asks the application about a token, and checks the response as the claims of a JWT are (RFC
 * 7662 §2.2). It returns undefined for a JWT, for a token that is too long, and for a word such as `undefined`: these
 * never go to the application, nor does text that is no token. Nothing is kept.
 */
export function createIntrospection({
  trusts,
  introspect = trusts.introspected?.rules.introspect,
  withinLimit,
  now,
}: IntrospectionParts): ((token: string) => Promise<Introspected> | Rejected | undefined) | undefined {
  if (!introspect) return undefined;
  const warn = createFaultWarning('introspect tokens', 'the function introspect', 'Requests get a 503');
  const ask = async (token: string): Promise<Introspected> => {
    const limited = new Limited();
    const response = await responseOf(() => withinLimit(limited, introspect(token, limited)), warn);
    if (!isJsonObject(response)) {
      warn('returned no object that JSON can carry');
      return rejectFor('introspection_unavailable');
    }
    if (response.active !== true || lacksKey(response)) return rejectFor('token_inactive');
    const { introspected } = trusts;
    const { iss = introspected?.rules.issuer } = response;
    const trust = introspected ?? (await trusts.of(iss));
    if (trust instanceof Rejected) return trust;
    const claims = readClaims({ ...response, iss }, trust.checks, now() / 1000);
    if (claims instanceof Rejected) return claims;
    trust.keep?.();
    return { claims };
  };

  return (token) => {
    if (token.length > maxTokenLength || isJwt(token)) return undefined;
    if (!isTokenText(token)) return rejectFor('credentials_malformed');
    return isPlaceholder(token) ? undefined : ask(token);
  };
}

/** RFC 9449 §6.2: the response for a DPoP-bound token names its key. Without it, anyone could use the token. */
const lacksKey = ({ token_type: type, cnf }: Members) =>
  typeof type === 'string' && type.toLowerCase() === 'dpop' && !(isJsonObject(cnf) && typeof cnf.jkt === 'string');

/**
 * Whether a text is a `b64token` (RFC 6750 §2.1) with a letter or a digit, so that it does no harm in a form, and stays
 * as it is in the path of a URL, relative to another.
 */
const isTokenText = (text: string) =>
  /^(?!\/)(?=.*[A-Za-z\d])[A-Za-z\d._~+/-]+=*$/.test(text) &&
  new URL(text, 'https://issuer.invalid/a/').pathname === `/a/${text}`;

/** What programs write for a value that is not there. All of these could be tokens (RFC 6750 §2.1). */
const words = /^(?:undefined|null|none|nil|nan|true|false)$/i;
/** What a template has before it is filled in, and what an object or a promise is as text. */
const templates = /^(?:\$\w+|\$\{[\w.:-]+\}|%\w+%?|\{\{.*\}\}|<[^>]*>|\[object \w+\])$/;

/** Whether a text is what a client sends instead of a token if a variable was not set. */
export const isPlaceholder = (text: string) => words.test(text) || templates.test(text);

/** Whether a text is a JWS, with `alg` in its header (RFC 7515 §4.1.1), or a JWE, with `enc` (RFC 7516 §4.1.2). */
function isJwt(token: string): boolean {
  const parts = token.split('.', 6).length;
  if (parts !== 3 && parts !== 5) return false;
  const header = ifPossible(() => parseJsonObject(base64url.decode(token.slice(0, token.indexOf('.')))));
  return (parts === 3 ? header?.alg : header?.enc) !== undefined;
}

/**
 * Resolves to what the application responds, as JSON carries it: a copy, because the application may keep and change
 * its own, without members that are undefined or null. Undefined if JSON cannot carry it, such as a cycle.
 */
export async function responseOf(introspect: () => unknown, warn?: (fault: string) => void): Promise<unknown> {
  try {
    const copy: unknown = structuredClone(await promised(introspect()));
    // JSON would write an object of another kind, such as an Error or a Map, as an empty one.
    return Object.prototype.toString.call(copy) === '[object Object]'
      ? withoutNulls(JSON.parse(JSON.stringify(copy)))
      : undefined;
  } catch (fault) {
    warn?.(`failed: ${nameOfFault(fault)}`);
    return undefined;
  }
}
