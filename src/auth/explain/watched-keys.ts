import type { FetchedDocument } from '../keys/discovery.ts';
import { whySkipped } from '../keys/jwk-set.ts';
import { isKeyFor } from '../keys/tenants.ts';
import type { Algorithm, KeySetEvent } from '../types.ts';
import { isJsonObject, type Members, withoutNulls } from '../values/json.ts';
import { printable } from '../values/text.ts';
import { show } from './checks/explained.ts';

/*
 * What an issuer publishes, as a guard fetches it, to say why a key of a token was not used.
 * Which keys are used is decided in keys/, and nothing of it here.
 */

/** Returns listeners for a guard, which then does not warn on the console, and a function that describes the key of a token. */
export function watchKeys() {
  const documents = new Map<string, unknown>();
  const reasons = new Map<string, string>();
  const keysOf = (issuer = ''): readonly Members[] => {
    const json = documents.get(issuer);
    return isJsonObject(json) && Array.isArray(json.keys) ? json.keys.filter(isJsonObject).map(withoutNulls) : [];
  };
  return {
    onEvent(event: KeySetEvent): void {
      if ('reasons' in event) for (const [kid, reason] of Object.entries(event.reasons ?? {})) reasons.set(kid, reason);
    },
    onDocument: (issuer: string, { json }: FetchedDocument): void => void documents.set(issuer, json),
    /** Returns the IDs of the keys that an issuer publishes. Not escaped. */
    idsOf: (issuer: string | undefined): readonly string[] => keysOf(issuer).map(({ kid }) => show(kid)),
    /** Returns why the key that a token names does not verify it, although its issuer publishes the key; undefined otherwise. */
    faultOf(
      issuer: string | undefined,
      kid: unknown,
      claims: Members,
      algorithms: readonly Algorithm[],
    ): string | undefined {
      const published = keysOf(issuer).filter((key) => key.kid === kid);
      const [first] = published;
      if (issuer === undefined || first === undefined) return undefined;
      const others = published.map(({ issuer: each }) => each).filter((each) => typeof each === 'string');
      if (others.length === published.length && !others.some((each) => isKeyFor(claims, issuer, each)))
        return `but for the issuer ${others.join(', ')}`;
      // Only importing a key shows that its point is off its curve, or that the runtime does not support it.
      const reason = whySkipped(first, algorithms) ?? reasons.get(printable(String(kid)));
      return reason === undefined ? undefined : `but it is not used: ${reason}`;
    },
  };
}
