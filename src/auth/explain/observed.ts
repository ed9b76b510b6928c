import { createGuardCore, type GuardCore } from '../guard/core.ts';
import { whySkipped } from '../keys/jwk-set.ts';
import { isKeyFor } from '../keys/tenants.ts';
import { describeValue } from '../options/describe-value.ts';
import { Rejected } from '../rejections.ts';
import { readClaims } from '../token/claims.ts';
import { responseOf } from '../token/introspection.ts';
import type { CheckedOptions, Claims, FindIssuer, GuardOptions, GuardRequest, Requirements } from '../types.ts';
import { printable } from '../values/ascii.ts';
import { isJsonObject, type Members, namesIn } from '../values/json.ts';
import { promised } from '../values/promises.ts';
import { type Explained, joined, show } from './checks/explained.ts';
import type { PastedProof } from './pasted.ts';

/** What is learned from a guard that explains. */
interface Seen {
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
 * Returns a guard that explains, with the policy of a route, and what is learned from its decisions. It calls only the
 * functions `issuer` and `introspect` of the application, because explaining a token must not count as a request.
 */
export function observe(
  checked: CheckedOptions,
  requirements: Requirements,
  parts: Parameters<typeof createGuardCore>[1],
) {
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
  const core = createGuardCore(options, {
    ...parts,
    onKeys: (from, keys) => void seen.published.set(from, keys.filter(isJsonObject)),
    onRejection: (rejected) => void seen.rejections.push(rejected),
  });
  return { core, policy: core.readRequirements(requirements), seen };
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

/**
 * Decides about a request as a guard with these options does, and returns what is learned from that. If the proof is
 * too old, it is also decided as of when that was made.
 */
export async function decideOn(
  checked: CheckedOptions,
  decoded: Pick<Explained, 'header' | 'claims'>,
  request: GuardRequest,
  requirements: Requirements,
  proof: PastedProof | undefined,
) {
  let now = Date.now;
  const { core, policy, seen } = observe(checked, requirements, { now: () => now() });
  const result = await core.decide(request, policy);
  const [rejected] = seen.rejections;
  const { iat } = proof?.claims ?? {};
  if (rejected?.reason === 'proof_time' && typeof iat === 'number') {
    now = () => iat * 1000;
    // Another object, because checks of the same one share what they have found.
    await core.decide({ ...request }, policy);
  }
  core.stop();
  const { claims, issuer, trust } = await findTrust(core, seen, decoded.claims);
  const lacksScope = core.checkAnyScope?.(claims as Claims);
  const isOfRoute = /^(?:scope|authentication)_insufficient$/.test(rejected?.reason ?? '') && !lacksScope;
  // Claims are read although their signature cannot be verified, so that a wrong audience shows during an outage too.
  const isUnknown = rejected?.reason === 'keys_unavailable' && trust !== undefined;
  const read = isUnknown ? readClaims(claims, trust.checks, Date.now() / 1000) : undefined;
  const states = core.state().issuers;
  return {
    result,
    seen,
    rejected,
    /** Whether routes that require only a token accept it. */
    isAccepted: rejected === undefined || isOfRoute,
    unverified: read instanceof Rejected ? read : read && (policy.check(read) ?? lacksScope ?? ('accepted' as const)),
    claims,
    issuer,
    options: { ...checked, ...trust?.rules, issuer: states.map((each) => each.issuer) },
    lastFailure: (states.find((each) => each.issuer === issuer) ?? states[0])?.lastFailure,
    keyIds: seen.published.get(issuer ?? '')?.map(({ kid }) => show(kid)),
    keyFault: keyFaultOf(seen, issuer, decoded.header.kid, claims, (trust?.rules ?? checked).algorithms),
  };
}

/** Returns the claims of a token, and what its guard verifies tokens with that have this `iss`. */
async function findTrust({ trusts }: GuardCore, { introspected, lookup }: Seen, decoded: Members) {
  const claims = introspected ? { iss: trusts.introspected?.rules.issuer, ...introspected } : decoded;
  // The function `issuer` is not called for this: what it returned is kept for a while.
  const found = lookup?.isCalled === false ? undefined : await trusts.of(claims.iss);
  const trust = found instanceof Rejected ? undefined : found;
  return { claims, issuer: trust?.rules.issuer, trust: trust ?? trusts.sole };
}

/** Returns why the key with this `kid`, which the issuer publishes, does not verify a token with these claims. */
function keyFaultOf(
  { published, skipped }: Seen,
  issuer = '',
  kid: unknown,
  claims: Members,
  algorithms: CheckedOptions['algorithms'],
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
