import { checkFound } from '../guard/found-issuer.ts';
import type { FetchedDocument } from '../keys/discovery.ts';
import { whySkipped } from '../keys/jwk-set.ts';
import { isKeyFor } from '../keys/tenants.ts';
import { listedIssuers } from '../options/issuers.ts';
import { responseOf } from '../token/introspection.ts';
import type { Algorithm, CheckedIssuer, CheckedOptions, FindIssuer, KeySetEvent } from '../types.ts';
import { describeValue } from '../values/describe-value.ts';
import { isJsonObject, type Members, namesIn, withoutNulls } from '../values/json.ts';
import { promised } from '../values/promises.ts';
import { printable } from '../values/text.ts';
import { joined, show } from './checks/explained.ts';

/*
 * What is learned from a guard that explains: the keys that it fetches, and what functions of the application return.
 * Other functions are left out, because explaining a token must not count as a request.
 */

/** Returns a function that observes the options `introspect`, and how to read what the last one responded. */
export function watchIntrospection() {
  let responded: Members | undefined;
  const observed = (introspect: CheckedOptions['introspect']): CheckedOptions['introspect'] =>
    introspect &&
    (async (opaque, limited) => {
      const response = await responseOf(() => introspect(opaque, limited));
      responded = isJsonObject(response) ? response : {};
      // Anything but an object is an outage, whatever its type.
      return response as object;
    });
  const observeOwn = (each: string | CheckedIssuer) =>
    typeof each === 'object' ? { ...each, introspect: observed(each.introspect) } : each;
  const observe = (options: CheckedOptions) => ({
    ...options,
    issuer: typeof options.issuer === 'function' ? options.issuer : options.issuer.map(observeOwn),
    introspect: observed(options.introspect),
  });
  return { observe, read: () => responded };
}

/** Returns the option `issuer` as the guard gets it, and how to read what a function among it has returned. */
export function watchLookup(options: CheckedOptions) {
  const { issuer: ask } = options;
  if (typeof ask !== 'function') return { issuer: ask, read: () => ({ issuer: ask, said: undefined }) };
  let said = 'was not called, because iss does not have the form of an issuer';
  let returned: unknown;
  const issuer: FindIssuer = async (iss, limited) => {
    said = 'failed, or took too long';
    const found = (await promised(ask(iss, limited))) as Awaited<ReturnType<FindIssuer>>;
    returned = found;
    const value = isJsonObject(found) ? `an object with ${joined(namesIn(found))}` : describeValue(found);
    said = `returned ${value}`;
    return found;
  };
  const read = () => {
    if (!isJsonObject(returned)) return { issuer: [], said };
    try {
      return { issuer: listedIssuers(checkFound(options, returned)), said };
    } catch (error) {
      return { issuer: [], said: `${said}. ${(error as TypeError).message}` };
    }
  };
  return { issuer, read };
}

/** Returns what replaces the functions that are not called. */
export const withoutCallbacks = ({ clientCertificate }: CheckedOptions) => ({
  isRevoked: undefined,
  onAccepted: undefined,
  onReplayStoreEvent: () => {},
  errorHeaders: undefined,
  // That of the process is not for proofs that are only explained.
  replayStore: { markUsed: () => true },
  clientCertificate: clientCertificate && (() => undefined),
});

/** Returns listeners for a guard, which then warns nobody, and functions that describe the keys that it fetched. */
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
    /** Returns why the key that a token names is not used although its issuer publishes it; undefined otherwise. */
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
