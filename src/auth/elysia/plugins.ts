import { Elysia, NotFoundError } from 'elysia';
import type { GuardCore } from '../guard/core.ts';
import { toResponse } from '../guard/decision.ts';
import { readResourceMembers } from '../guard/metadata.ts';
import { boolean } from '../options/kinds.ts';
import { checkMembers } from '../options/members.ts';
import type { Claims, MisspeltRequirements, PluginSettings, ResourceMembers, RouteRequirements } from '../types.ts';
import { override, refuseOtherCopies } from './composition.ts';
import { claimsHook, publicHook, type RequirementMacros, requirementMacros } from './hooks.ts';
import type { Instance } from './internals.ts';
import type { AnyOptions, AnySchema, ClaimsWith, GuardOr, OptionsWith } from './options.ts';
import { coreFrom } from './options.ts';
import { type GuardUse, plans } from './plan.ts';
import type { ListedRoute } from './routes.ts';

/** What an empty Elysia instance has of hooks, schemas and so on. */
type None = Elysia['~Routes'];

/**
 * The plugin that `resourceServer` returns, for exports whose type is written down. A token is optional if `Handed` has
 * `undefined`.
 * @example
 * export const auth: GuardPlugin = resourceServer(guard);
 */
export type GuardPlugin<Handed = Claims> = Elysia<
  '',
  Elysia['~Singleton'],
  Elysia['~Definitions'],
  {
    schema: None;
    standaloneSchema: None;
    macro: Partial<RouteRequirements<NonNullable<Handed>>> & MisspeltRequirements;
    /** For TypeScript, a macro that adds nothing triples the cost of a route. */
    macroFn: undefined extends Handed ? RequirementMacros<Handed> : None;
    parser: None;
    response: None;
  },
  None,
  {
    derive: { claims: Handed };
    resolve: None;
    schema: None;
    standaloneSchema: None;
    response: None;
  }
>;

/**
 * Returns a plugin that guards every route added after it to the same Elysia instance, and no others: a request without
 * a valid access token is rejected before its body is read. Handlers get `claims`; the route options `scope`, `acr`,
 * `maxAge` and `authorize` require more. Keys are fetched when the application starts, or first needs them, and
 * refreshed until it stops. Given a guard, the plugin uses that one.
 * @example
 * new Elysia()
 *   .use(resourceServer({ issuer: 'https://tenant.example.com/', audience: 'https://api.example.com' }))
 *   .get('/me', ({ claims }) => claims.sub)
 *   .get('/messages', () => messages(), { scope: 'read:messages' })
 * @throws {TypeError} an option or a setting is missing, mistyped, out of range or unknown; the message names it
 * @throws {Error} from `.use()`: routes would stay open
 */
export function resourceServer<
  Schema extends AnySchema | undefined = undefined,
  Handed extends object = ClaimsWith<Schema>,
  Optional extends boolean = false,
>(
  given: GuardOr<OptionsWith<Schema>, Handed>,
  settings?: PluginSettings<Optional>,
): GuardPlugin<Handed | (Optional extends true ? undefined : never)> {
  const { optional, publicBefore, responses } = checkMembers('Cannot guard routes', settingRules, settings ?? {});
  const core = coreFrom(given as AnyOptions);
  const users = usersOf.get(core) ?? new Set();
  usersOf.set(core, users);
  // The hook of `derive` hands over the claims, and those of the macros say what a route requires. The gate has checked
  // both, apart from functions of the context.
  const use: GuardUse = {
    core,
    given,
    isOptional: optional,
    isPublicBefore: publicBefore,
    isDocumented: responses,
  };
  const plugin = new Elysia()
    .onStart((app) => {
      users.add(app);
      core.start();
    })
    .onStop((app) => {
      users.delete(app);
      if (users.size === 0) core.stop();
    })
    .derive({ as: 'scoped' }, claimsHook(use))
    .macro(requirementMacros as Record<string, never>);
  refuseOtherCopies(plugin as unknown as Instance);
  return plugin as never;
}

const settingRules = { optional: boolean(false), publicBefore: boolean(false), responses: boolean(true) };

/** The applications that listen and use a guard. It stops with the last of them. */
const usersOf = new WeakMap<GuardCore, Set<unknown>>();

/**
 * Returns a plugin that serves the metadata from which clients learn the authorization servers and scopes of this API
 * (RFC 9728 §2), to browsers of every origin. The scopes are those of the routes that guards of this resource protect.
 * @example
 * const guard = createGuard({ issuer: 'https://tenant.example.com/', audience: 'https://api.example.com', publicUrl: 'https://api.example.com' });
 * new Elysia().use(resourceMetadata(guard)).use(resourceServer(guard))
 * @throws {TypeError} an option or a member is not valid, or `publicUrl` is missing
 */
export function resourceMetadata(given: GuardOr<AnyOptions>, members: ResourceMembers = {}) {
  const core = coreFrom(given);
  const resource = resourceOf(core);
  if (resource === undefined) throw new TypeError('Cannot serve resource metadata: publicUrl is missing');
  const shown = readResourceMembers(members);
  // When a plugin is used, Elysia gives it a method that returns the routes of the whole application.
  const plugin = new Elysia() as Elysia & { getGlobalRoutes(): readonly ListedRoute[] };
  const serve = ({ request }: { readonly request: Request }) => {
    const plain = core.metadata(request, () => ({
      scopes: scopesFor(resource, plugin.getGlobalRoutes()),
      members: shown,
    }));
    // Elysia also serves the path with a slash at its end.
    if (plain === undefined) throw new NotFoundError();
    return toResponse(plain);
  };
  const paths = new Set(core.names.all.map(({ metadataPath }) => metadataPath));
  // Without a route for HEAD, Elysia replaces the length of the document by that of the empty body.
  for (const path of paths)
    for (const method of ['GET', 'HEAD', 'OPTIONS'])
      plugin.route(method, path, serve, { detail: { hide: true }, beforeHandle: publicHook });
  return plugin;
}

/** Returns the identifier at the first name. */
const resourceOf = ({ names }: GuardCore) => names.all[0]?.resource;

/** Returns the scopes that these routes require of tokens for this resource. */
function scopesFor(resource: string, routes: readonly ListedRoute[]): string[] {
  const layers = routes.flatMap(({ hooks }) => plans.get(hooks)?.layers ?? []);
  const own = layers.filter(({ use }) => resourceOf(use.core) === resource);
  return [...new Set(own.flatMap(({ policy }) => policy.alternatives.flat()))];
}

override(Elysia.prototype as unknown as Instance);
