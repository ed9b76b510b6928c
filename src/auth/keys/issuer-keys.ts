import type { CheckedOptions, JwkSet, KeySetEvent } from '../types.ts';
import { createKeySetSource, type KeySetSource } from './discovery.ts';
import { describeFault, FetchError } from './fetch/fault.ts';
import { proxyOf } from './fetch/proxy.ts';
import { privateMemberOf } from './jwk.ts';
import { isNamed, readKeySet, readKeys } from './jwk-set.ts';
import { KeySet, type KeySetOptions } from './key-set.ts';
import { isTemplate } from './tenants.ts';

/*
 * One key set for each issuer of a guard, fetched or given. Issuers share nothing: no keys, no cooldown, no failure.
 */

/** What all key sets of a guard share. */
export type KeysEnvironment = Pick<KeySetOptions, 'clock' | 'random' | 'onKeys'>;

export type IssuerKeys = ReturnType<typeof createIssuerKeys>;

/**
 * Returns the keys of a guard's issuers, and functions for all of them.
 * @param issuers the options for each issuer, by its identifier
 * @throws {TypeError} given keys are not a JWK Set, or none of them can be used
 */
export function createIssuerKeys(issuers: ReadonlyMap<string, CheckedOptions>, environment: KeysEnvironment) {
  const byIssuer = new Map<string, KeySet>();
  for (const [issuer, options] of issuers) {
    const { keys, algorithms, onKeySetEvent: onEvent = createWarn(issuer, options) } = options;
    const source = keys ? givenKeys(keys, algorithms) : createKeySetSource(issuer, options);
    const times = keys && { jwksMaxAgeSeconds: never, jwksCooldownSeconds: never };
    byIssuer.set(issuer, new KeySet({ ...options, ...times, ...environment, issuer, source, onEvent }));
  }
  const all = [...byIssuer.values()];
  const proxyFor = (issuer: string) => {
    const { keys, fetch, jwksUri = issuer } = issuers.get(issuer) ?? {};
    return keys || fetch ? undefined : proxyOf(jwksUri);
  };
  return {
    byIssuer,
    start: () => all.forEach((keys) => void keys.start()),
    stop: () => all.forEach((keys) => void keys.stop()),
    /** @throws {TypeError} the only issuer to reload is none of these */
    async reload(only?: string) {
      const keySets = only === undefined ? all : [byIssuer.get(only)];
      await Promise.all(
        keySets.map((keys) => {
          if (!keys) throw new TypeError('Cannot reload an issuer: expected one of the option issuer');
          return keys.reload();
        }),
      );
    },
    /** In the order of the issuers. */
    state: () => [...byIssuer].map(([issuer, keys]) => ({ ...keys.state(), proxy: proxyFor(issuer) })),
  };
}

const never = Number.POSITIVE_INFINITY;

/** Returns the source of a copy of given keys. Points that are not on their curve are found when keys are imported. */
function givenKeys(keys: JwkSet, algorithms: CheckedOptions['algorithms']): KeySetSource {
  if (!keys.keys.every(isNamed)) throw new TypeError('Cannot create a guard: each key in keys must have a kid');
  if (keys.keys.some(privateMemberOf))
    throw new TypeError(
      'Cannot create a guard: keys must contain public keys only. Remove the private key from it, which stays with the issuer',
    );
  try {
    const read = readKeySet(structuredClone(keys));
    readKeys(read, algorithms);
    return async () => ({ keys: read, url: undefined });
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    throw new TypeError(
      `Cannot create a guard: keys must be a JWK Set that contains a public key for ${algorithms.join(', ')}, but ${describeFault(error.fault)}`,
    );
  }
}

/**
 * Returns a listener for an application without `onKeySetEvent`: it warns of keys that cannot be used, once when an
 * outage begins, and once when the keys of all tenants are there but no list of tenants is.
 */
function createWarn(issuer: string, { requiredClaims }: CheckedOptions): (event: KeySetEvent) => void {
  let acceptsAny = isTemplate(issuer) && requiredClaims.tid === undefined;
  // biome-ignore lint/suspicious/noConsole: without it, a wrong issuer would show only as 503.
  const warn = (text: string) => console.warn(text);
  return (event) => {
    if (event.type === 'unsupported' || event.type === 'unusable') {
      const reasons = Object.entries(event.reasons ?? {}).map(([kid, reason]) => `${kid}: ${reason}`);
      warn(`Cannot use keys of ${issuer}: ${reasons.join(', ')}`);
    } else if (event.type === 'failed' && event.failures === 1) {
      const use = event.failure === 'no_usable_key' ? 'use' : 'fetch';
      warn(`Cannot ${use} the keys of ${issuer}: ${describeFault(event)}`);
    } else if (event.type === 'fetched' && acceptsAny) {
      acceptsAny = false;
      const advice = 'list the tenants that you trust in requiredClaims: { tid: [...] }';
      warn(`Accepting tokens of every tenant of ${issuer}: ${advice}`);
    }
  };
}
