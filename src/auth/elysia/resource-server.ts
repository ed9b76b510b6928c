import { Elysia } from 'elysia';
import { createCredentialsReader } from '../guard/credentials.ts';
import { createScopeCheck } from '../guard/scopes.ts';
import type { Clock } from '../keys/clock.ts';
import type { Fetch } from '../keys/fetch-json.ts';
import { createKeySet, type KeySet, type KeySetState } from '../keys/key-set.ts';
import { createKeySetSource } from '../keys/key-set-source.ts';
import { type CheckedOptions, checkOptions, isScopeToken, type ResourceServerOptions } from '../options.ts';
import { createBindingCheck } from '../proof/binding.ts';
import { createRefuse, Refusal, type RefusalDetail, type RefusalReason } from '../refusals.ts';
import { createVerifier, type VerifierState } from '../token/verifier.ts';
import { forbidEarlierRoutes, forbidSkippedGuards } from './guarded-routes.ts';
import { resourceMetadataPath, resourceMetadataUrl } from './resource-metadata.ts';
import { securityOf } from './schema.ts';

/** The environment of a guard, replaceable for tests. */
export interface GuardEnvironment {
  readonly fetch?: Fetch;
  /** Monotonic time, for the age of keys. */
  readonly clock?: Clock;
  /** Wall-clock time in milliseconds since 1970, for `exp` and `nbf`. */
  readonly now?: () => number;
  /** At least 0 and below 1. */
  readonly random?: () => number;
  /** Additional headers of every rejection. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /**
   * Prevents Elysia from copying each rejection, which takes two thirds of its time. Hooks of the application then see a
   * `set.status` of 200, so this requires an application that reads the status of the response instead.
   */
  readonly sendsUncopied?: boolean;
}

/** The function `status` of the request's context: a value that another copy of Elysia made would not end the request. */
type Status = (code: number, response: Response) => unknown;

export interface GuardState extends VerifierState {
  /** In the order of the option `issuer`. */
  readonly issuers: readonly KeySetState[];
}

/** A guard, with access to its state and lifecycle. */
export type Guard = ReturnType<typeof createGuard>;

/**
 * Returns a plugin that guards every route added after it to the same Elysia instance, and routes of no other instance: a
 * request without a valid access token is rejected before its body and query are validated. Handlers get `claims`; the route
 * option `scope` requires one scope or all of several. Keys are fetched when the application starts or when they are first
 * needed, and are refreshed in the background. Create it once and use it wherever it is needed.
 * @example
 * new Elysia()
 *   .use(resourceServer({ issuer: 'https://tenant.example.com/', audience: 'https://api.example.com' }))
 *   .get('/me', ({ claims }) => claims.sub)
 *   .get('/reports', () => reports(), { scope: 'read:reports' })
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown
 * @throws {Error} from `.use()`, if the instance already has routes, which would stay unguarded
 */
export function resourceServer(options: ResourceServerOptions) {
  return createGuard(options).plugin;
}

/** Returns the plugin of {@link resourceServer} with its state, `start` and `stop`. */
export function createGuard(options: ResourceServerOptions, environment: GuardEnvironment = {}) {
  const checked = checkOptions(options);
  const { dpop, publicUrl, scopePrefix = '' } = checked;
  const readCredentials = createCredentialsReader(dpop);
  const keySets = createKeySets(checked, options.onKeySetEvent, environment);
  const { now, random } = environment;
  const verifier = createVerifier({ ...checked, keySets, acceptsBoundTokens: dpop !== 'off', now, random });
  const refusePresentation = createBindingCheck({ ...checked, replayStore: options.replayStore, now });
  const hasScopes = createScopeCheck(checked);
  const metadataPath = publicUrl && resourceMetadataPath(publicUrl);
  const refuse = createRefusing(checked, options, environment);
  let hasBegun = false;
  /** Before the first request, and when the application starts to listen. */
  const begin = () => {
    forbidSkippedGuards(plugin);
    for (const keySet of keySets.values()) keySet.start();
    hasBegun = true;
  };

  const plugin = new Elysia({ name: 'protected-api', seed: checked })
    .onStart(begin)
    // A return value of Elysia's `status` ends the request. A thrown error would reach the onError of the application.
    .derive({ as: 'scoped' }, async ({ request, route, status }) => {
      if (!hasBegun) begin();
      if (route === metadataPath) return undefined as never;
      const credentials = readCredentials(request.headers.get('authorization'));
      if ('refusal' in credentials) return refuse(status, request, credentials.refusal);
      const pending = verifier.verify(credentials.token);
      // Awaiting a value would delay the request by a microtask.
      const verdict = pending instanceof Promise ? await pending : pending;
      if (verdict instanceof Refusal) return refuse(status, request, verdict.reason, verdict);
      const { claims } = verdict;
      const refusal = refusePresentation && (await refusePresentation(request, credentials, claims));
      if (refusal) return refuse(status, request, refusal.reason);
      options.onAccepted?.(request, claims);
      return { claims };
    })
    .macro({
      /** Requires this scope, or all of these scopes, in addition to a valid token. */
      scope: (scope: string | readonly string[]) => {
        const required = readRequiredScopes(scope);
        const named = required.map((name) => scopePrefix + name);
        return {
          detail: { security: securityOf(named) },
          beforeHandle({ claims, request, status }) {
            if (!claims || !hasScopes(claims, required))
              return refuse(status, request, 'scope_insufficient', { scopes: named });
          },
        };
      },
    });
  forbidEarlierRoutes(plugin);

  return {
    plugin,
    /** Starts to fetch keys. Otherwise they are fetched when the application starts to listen, or when they are first needed. */
    start: begin,
    /** Stops the background refresh. */
    stop() {
      for (const keySet of keySets.values()) keySet.stop();
    },
    state: (): GuardState => ({
      ...verifier.state(),
      issuers: [...keySets.values()].map((keySet) => keySet.state()),
    }),
  };
}

/** Returns a function that rejects a request, with a challenge in the scheme that the request used. */
function createRefusing(
  { dpop, publicUrl }: CheckedOptions,
  { onRefused, errorBody }: ResourceServerOptions,
  { responseHeaders: headers, sendsUncopied }: GuardEnvironment,
) {
  const readCredentials = createCredentialsReader(dpop);
  const resourceMetadata = publicUrl && resourceMetadataUrl(publicUrl);
  const respond = createRefuse({ resourceMetadata, dpop, headers, errorBody });
  return (status: Status, request: Request, reason: RefusalReason, detail?: RefusalDetail) => {
    onRefused?.(request, reason);
    const response = respond(reason, readCredentials(request.headers.get('authorization')).scheme, detail);
    // With any status but 200, Elysia would copy the Response. The client gets the status of the Response in both cases.
    return status(sendsUncopied ? 200 : response.status, response) as never;
  };
}

function createKeySets(
  options: CheckedOptions,
  onEvent: ResourceServerOptions['onKeySetEvent'],
  environment: GuardEnvironment,
): ReadonlyMap<string, KeySet> {
  return new Map(options.issuer.map((issuer) => [issuer, keySetOf(issuer, options, onEvent, environment)]));
}

function keySetOf(
  issuer: string,
  options: CheckedOptions,
  onEvent: ResourceServerOptions['onKeySetEvent'],
  { fetch = globalThis.fetch, clock, random }: GuardEnvironment,
): KeySet {
  const { jwksUri, jwksAllowHttp: allowHttp, algorithms } = options;
  return createKeySet({
    issuer,
    source: createKeySetSource({ issuer, jwksUri, allowHttp, fetch }),
    algorithms,
    maxAgeMs: options.jwksMaxAgeSeconds * 1000,
    maxStaleMs: options.jwksMaxStaleSeconds * 1000,
    cooldownMs: options.jwksCooldownSeconds * 1000,
    timeoutMs: options.jwksTimeoutSeconds * 1000,
    onEvent,
    clock,
    random,
  });
}

/** @throws {TypeError} the value is not a scope or a list of scopes */
function readRequiredScopes(scope: string | readonly string[]): readonly string[] {
  const scopes = typeof scope === 'string' ? [scope] : [...scope];
  if (scopes.length === 0 || !scopes.every(isScopeToken))
    throw new TypeError('Cannot guard a route: scope must be a scope or a list of scopes (RFC 6749 section 3.3)');
  return scopes;
}
