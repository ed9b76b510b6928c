import type { GuardCore } from '../guard/core.ts';
import { whySkipped } from '../keys/jwk-set.ts';
import { isKeyFor } from '../keys/tenants.ts';
import { describeValue } from '../options/describe-value.ts';
import { Rejected } from '../rejections.ts';
import { responseOf } from '../token/introspection.ts';
import type { Algorithm, CheckedOptions, FindIssuer, GuardOptions } from '../types.ts';
import { printable } from '../values/ascii.ts';
import { isJsonObject, type Members, namesIn } from '../values/json.ts';
import { promised } from '../values/promises.ts';
import { joined } from './checks/explained.ts';

/** What is learned from a guard that explains. */
export interface Seen {
  /** Why it rejected each request. */
  readonly rejections: Rejected[];
  /** The keys that each issuer publishes. */
  readonly published: Map<string, readonly Members[]>;
  /** Why keys are skipped, by their ID. */
  readonly skipped: Map<string, string>;
  /** The last response of `introspect`. */
  introspected?: Members;
  /** Whether the function `issuer` was called, and what it has done, in words. */
  lookup?: { readonly isCalled: boolean; readonly said: string };
}

/**
 * Returns options for a guard that explains, and what is then learned from it. The only functions of the application
 * that it calls are `issuer` and `introspect`, because explaining a token must not count as a request.
 */
export function observe(checked: CheckedOptions) {
  const { issuer, introspect, clientCertificate } = checked;
  const seen: Seen = { rejections: [], published: new Map(), skipped: new Map() };
  const options: GuardOptions = {
    ...checked,
    issuer:
      typeof issuer === 'function'
        ? observeLookup(issuer, seen)
        : issuer.map((each) =>
            typeof each === 'object' ? { ...each, introspect: observeIntrospection(each.introspect, seen) } : each,
          ),
    introspect: observeIntrospection(introspect, seen),
    isRevoked: undefined,
    onAccepted: undefined,
    onRejected: undefined,
    onKeySetEvent: (event) => {
      const reasons = 'reasons' in event ? event.reasons : undefined;
      for (const [kid, reason] of Object.entries(reasons ?? {})) seen.skipped.set(kid, reason);
    },
    onReplayStoreEvent: () => {},
    errorHeaders: undefined,
    // That of the process is not for proofs that are only explained.
    replayStore: { markUsed: () => true },
    clientCertificate: clientCertificate && (() => undefined),
  };
  return { options, seen };
}

function observeIntrospection(introspect: CheckedOptions['introspect'], seen: Seen): CheckedOptions['introspect'] {
  if (!introspect) return undefined;
  return async (opaque, limited) => {
    const response = await responseOf(() => introspect(opaque, limited));
    seen.introspected = isJsonObject(response) ? response : {};
    // Anything but an object is an outage, whatever its type.
    return response as object;
  };
}

function observeLookup(find: FindIssuer, seen: Seen): FindIssuer {
  seen.lookup = { isCalled: false, said: 'was not called, because iss does not have the form of an issuer' };
  return async (iss, limited) => {
    seen.lookup = { isCalled: true, said: 'failed, or took too long' };
    const returned = await promised(find(iss, limited));
    const value = isJsonObject(returned) ? `an object with ${joined(namesIn(returned))}` : describeValue(returned);
    seen.lookup = { isCalled: true, said: `returned ${value}` };
    return returned as Awaited<ReturnType<FindIssuer>>;
  };
}

/** Returns the claims of a token, and what its guard verifies tokens with that have this `iss`. */
export async function findTrust({ trusts }: GuardCore, { introspected, lookup }: Seen, decoded: Members) {
  const claims = introspected ? { iss: trusts.introspected?.rules.issuer, ...introspected } : decoded;
  // The function `issuer` is not called for this: what it returned is kept for a while.
  const found = lookup?.isCalled === false ? undefined : await trusts.of(claims.iss);
  const trust = found instanceof Rejected ? undefined : found;
  return { claims, issuer: trust?.rules.issuer, trust: trust ?? trusts.sole };
}

/** Returns why the key with this `kid`, which the issuer publishes, does not verify a token with these claims. */
export function keyFaultOf(
  { published, skipped }: Seen,
  issuer = '',
  kid: unknown,
  claims: Members,
  algorithms: readonly Algorithm[],
): string | undefined {
  const named = published.get(issuer)?.filter((key) => key.kid === kid) ?? [];
  const [first] = named;
  if (first === undefined) return undefined;
  const issuers = named.map((key) => key.issuer);
  if (issuers.every((each) => typeof each === 'string' && !isKeyFor(claims, issuer, each)))
    return `but for the issuer ${issuers.join(', ')}`;
  // Only importing a key shows that its point is off its curve, or that the runtime does not support it.
  const reason = whySkipped(first, algorithms) ?? skipped.get(printable(String(kid)));
  return reason === undefined ? undefined : `but it is not used: ${reason}`;
}
