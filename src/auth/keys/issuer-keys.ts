import type { Algorithm } from '../jose/algorithms.ts';
import type { Clock } from './clock.ts';
import { createKeySetSource } from './discovery.ts';
import type { Fetch } from './fetch-json.ts';
import { createFixedKeySet } from './fixed-key-set.ts';
import type { KeySet, KeySetEvent, KeySetState } from './key-set.ts';
import { RefreshingKeySet } from './refreshing-key-set.ts';

export interface IssuerKeysOptions {
  readonly jwksUri: string | undefined;
  /** A JWK Set to use instead of fetching one. */
  readonly keys: unknown;
  readonly jwksAllowHttp: boolean;
  readonly algorithms: readonly Algorithm[];
  readonly jwksMaxAgeSeconds: number;
  readonly jwksMaxStaleSeconds: number;
  readonly jwksCooldownSeconds: number;
  readonly jwksTimeoutSeconds: number;
  readonly fetch: Fetch | undefined;
  readonly onKeySetEvent: ((event: KeySetEvent) => unknown) | undefined;
}

/** The keys of a guard's issuers. */
export interface IssuerKeys extends Pick<KeySet, 'start' | 'stop' | 'reload'> {
  readonly byIssuer: ReadonlyMap<string, KeySet>;
  /** In the order of the issuers. */
  state(): readonly KeySetState[];
}

/**
 * Returns the keys of each issuer. Issuers share nothing: no keys, no cooldown, no failure.
 * @param issuers the options for each issuer, by its identifier
 */
export function createIssuerKeys(
  issuers: ReadonlyMap<string, IssuerKeysOptions>,
  environment: { readonly clock?: Clock | undefined; readonly random?: (() => number) | undefined },
): IssuerKeys {
  const keySetOf = (issuer: string, options: IssuerKeysOptions) => {
    const { jwksUri, jwksAllowHttp: allowHttp, keys, algorithms, fetch = globalThis.fetch } = options;
    const { onKeySetEvent: onEvent = warn } = options;
    if (keys !== undefined) return createFixedKeySet({ issuer, keys, algorithms, onEvent });
    return new RefreshingKeySet({
      issuer,
      source: createKeySetSource({ issuer, jwksUri, allowHttp, fetch }),
      algorithms,
      maxAgeMs: options.jwksMaxAgeSeconds * 1000,
      maxStaleMs: options.jwksMaxStaleSeconds * 1000,
      cooldownMs: options.jwksCooldownSeconds * 1000,
      timeoutMs: options.jwksTimeoutSeconds * 1000,
      onEvent,
      ...environment,
    });
  };
  const byIssuer = new Map([...issuers].map(([issuer, options]) => [issuer, keySetOf(issuer, options)]));
  const all = [...byIssuer.values()];
  return {
    byIssuer,
    start: () => all.forEach((keys) => void keys.start()),
    stop: () => all.forEach((keys) => void keys.stop()),
    async reload() {
      await Promise.all(all.map((keys) => keys.reload()));
    },
    state: () => all.map((keys) => keys.state()),
  };
}

/** Warns an application without `onKeySetEvent` of keys that it cannot use, and once when an outage begins, and says why. */
function warn(event: KeySetEvent): void {
  const { issuer } = event;
  let warning = '';
  if (event.type === 'unsupported')
    warning = `Cannot use keys of ${issuer}: this runtime does not support the algorithm of ${event.keys.join(', ')}`;
  else if (event.type === 'failed' && event.failures === 1) {
    const { failure, status, cause, address, found } = event;
    const reason = [failure, status, cause, found && `found ${found}`].filter(Boolean).join(', ');
    const use = failure === 'no_usable_key' ? 'use' : 'fetch';
    warning = `Cannot ${use} the keys of ${issuer}${address ? ` from ${address}` : ''}: ${reason}`;
  }
  // biome-ignore lint/suspicious/noConsole: without it, a wrong issuer would show only as 503.
  if (warning !== '') console.warn(warning);
}
