import { Elysia, getSchemaValidator, type Static, type TSchema } from 'elysia';
import type { GuardOptions, IssuersWithAudience } from '../check-options.ts';
import { createGuardCore, type GuardCore } from '../guard/create-guard.ts';
import { type ClaimsOf, coreOf, type Guard, type OptionsFor } from '../guard/guard.ts';
import type { FixedScope } from '../guard/scopes.ts';
import { namesIn } from '../jose/encoding.ts';
import type { DeniedRejection, GuardRejections, WithResponses } from '../openapi/responses.ts';
import { warnOfMissingSchemes } from '../openapi/security.ts';
import { optionRules } from '../options.ts';
import type { Claims } from '../token/claims.ts';
import { type ClaimsSchema, isStandardSchema } from '../token/claims-schema.ts';
import { type Instance, isInstance, type Methods, type RouteContext, withSource } from './instance.ts';
import { meetCopies, override } from './overrides.ts';
import { type Protection, requirementHook } from './plan.ts';
import { closeFor, protectPlugin, rememberFailure } from './protections.ts';
import { acceptanceOf, failWithout } from './seal.ts';

/** The context that requirement functions get. The body is `unknown`: annotate the parameter on a route with a schema. */
export interface RequirementContext {
  readonly claims: Claims;
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
}

type OfContext<Value> = (context: RequirementContext) => Value | Promise<Value>;

/** Only a type: typed clients know the 403 of routes that require it. */
type DenyingHook = (context: RouteContext) => DeniedRejection | undefined;

/** All guards share these functions, so that a macro of the application that replaces one is noticed. */
const requirements = {
  /** Requires this scope, all of these scopes, or any of `anyOf`, fixed or as a function of the context. */
  scope: (scope: FixedScope | OfContext<FixedScope>) => ({
    beforeHandle: requirementHook('scope', scope) as DenyingHook,
  }),
  /** Requires that the token's `acr` is one of these (RFC 9470). */
  acr: (acr: string | readonly string[]) => ({ beforeHandle: requirementHook('acr', acr) }),
  /** Requires that the end user was authenticated at most so many seconds ago (RFC 9470). */
  maxAge: (maxAge: number) => ({ beforeHandle: requirementHook('maxAge', maxAge) }),
  /** Decides last whether the token allows this request. Anything but `true` is a 403. */
  authorize: (authorize: OfContext<boolean>) => ({
    beforeHandle: requirementHook('authorize', authorize) as DenyingHook,
  }),
};

/** A schema of claims: of any library with Standard Schema, or Elysia's own `t`. */
export type AnySchema = ClaimsSchema | TSchema;

/** The claims that handlers get with this schema, which may be Elysia's `t`. */
type HandedClaims<Schema> = Schema extends TSchema ? Claims & Static<Schema> : ClaimsOf<Schema>;

export interface PluginSettings {
  /** Accepts requests without an Authorization header, with `claims` undefined. Defaults to false. */
  readonly optional?: boolean | undefined;
  /**
   * Whether OpenAPI documents and typed clients know the responses 401, 403 and 503 of guarded routes. Defaults to true; false
   * suits applications with an `errorBody`.
   */
  readonly responses?: boolean | undefined;
}

/** The plugin with these settings. */
type Plugin<Handed, Settings extends PluginSettings> = WithResponses<
  ReturnType<typeof createPlugin<IsUnset<Settings, 'optional', false> extends true ? Handed : Handed | undefined>>,
  IsUnset<Settings, 'responses', true> extends true ? GuardRejections : Record<never, never>
>;

/** Whether a setting certainly has its default. */
type IsUnset<Settings extends PluginSettings, Name extends keyof PluginSettings, Default> = Name extends keyof Settings
  ? Settings[Name] extends Default | undefined
    ? true
    : false
  : true;

/**
 * Returns a plugin that guards every route added after it to the same Elysia instance, and routes of no other instance: a
 * request without a valid access token is rejected before its body is read. Handlers get `claims`; the route options `scope`,
 * `acr`, `maxAge` and `authorize` require more. Keys are fetched when the application starts or when they are first needed, and
 * are refreshed in the background until it stops. Given a guard, the plugin uses that one.
 * @example
 * new Elysia()
 *   .use(resourceServer({ issuer: 'https://tenant.example.com/', audience: 'https://api.example.com' }))
 *   .get('/me', ({ claims }) => claims.sub)
 *   .get('/reports', () => reports(), { scope: 'read:reports' })
 * @throws {TypeError} an option or a setting is missing, mistyped, out of range or unknown; the message names it
 * @throws {Error} from `.use()`: routes would stay open
 */
export function resourceServer<
  GuardClaims extends Claims,
  const Settings extends PluginSettings = Record<never, never>,
>(guard: Guard<GuardClaims>, settings?: Settings): Plugin<GuardClaims, Settings>;
export function resourceServer<
  Schema extends AnySchema | undefined = undefined,
  const Settings extends PluginSettings = Record<never, never>,
>(
  options: Omit<OptionsFor<Schema>, 'issuer' | 'audience'> & IssuersWithAudience,
  settings?: Settings,
): Plugin<HandedClaims<Schema>, Settings>;
// The last overload is the one whose errors TypeScript reports.
export function resourceServer<
  Schema extends AnySchema | undefined = undefined,
  const Settings extends PluginSettings = Record<never, never>,
>(options: OptionsFor<Schema>, settings?: Settings): Plugin<HandedClaims<Schema>, Settings>;
export function resourceServer(given: object, settings: PluginSettings = {}) {
  if (isInstance(given)) closeFor(given, given, 'resourceServer returns the plugin. Call it: resourceServer(options)');
  try {
    return createPlugin<never>(coreFrom(given as OptionsFor<AnySchema> | Guard), checkSettings(settings)) as never;
  } catch (error) {
    throw rememberFailure(error);
  }
}

/**
 * Returns the core of a guard, or of a new one with these options.
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown
 */
export function coreFrom(given: OptionsFor<AnySchema> | Guard): GuardCore {
  return coreOf(given) ?? createGuardCore(withStandardSchema(given as OptionsFor<AnySchema>));
}

function withStandardSchema(options: OptionsFor<AnySchema>): GuardOptions {
  const { claims } = options ?? {};
  if (claims === undefined) return options as GuardOptions;
  // Options may be getters or inherited, such as those of a class.
  const names = [...Object.keys(optionRules), ...namesIn(options)] as (keyof GuardOptions)[];
  const copied = Object.fromEntries(names.map((name) => [name, options[name]]));
  return { ...copied, claims: toStandardSchema(claims) } as GuardOptions;
}

/** Returns a schema that implements Standard Schema. Elysia's own do not. */
function toStandardSchema(schema: AnySchema): ClaimsSchema {
  // The check of the options rejects any other value.
  if (!schema || isStandardSchema(schema) || typeof schema !== 'object') return schema;
  // Without `additionalProperties`, Elysia rejects every claim that the schema does not name, and so every token.
  const validator = getSchemaValidator(schema as TSchema, { dynamic: true, additionalProperties: true });
  const validate = (claims: unknown) =>
    validator.Check(claims)
      ? { value: validator.Decode?.(claims) ?? claims }
      : { issues: [...validator.Errors(claims)] };
  return { '~standard': { version: 1, vendor: 'elysia', validate } };
}

function checkSettings(settings: PluginSettings): PluginSettings {
  // Each is read once, because it may be a getter.
  const { optional, responses } = settings;
  const read = { optional, responses };
  const unknown = namesIn(settings).find((name) => !(name in read));
  if (unknown !== undefined) throw new TypeError(`Cannot guard routes: ${unknown} is not an option of the plugin`);
  for (const [name, value] of Object.entries(read))
    if (value !== undefined && typeof value !== 'boolean')
      throw new TypeError(`Cannot guard routes: ${name} must be true or false`);
  return read;
}

/** The applications that listen and use a guard. It stops with the last of them. */
const usersOf = new WeakMap<GuardCore, Set<unknown>>();

function createPlugin<Handed>(core: GuardCore, { optional = false, responses = true }: PluginSettings) {
  const users = usersOf.get(core) ?? new Set();
  usersOf.set(core, users);
  let hasBegun = false;
  const begin = () => {
    if (hasBegun) return;
    hasBegun = true;
    core.start();
  };
  const protection: Protection = { core, isOptional: optional, isDocumented: responses, begin };
  const handOver = withSource((context: RouteContext) => {
    // Elysia ran this hook on a route that was not added by an overridden method.
    const acceptance = acceptanceOf(context) ?? failWithout('The guard did not check this request');
    return { claims: acceptance.claims as Handed };
  }, '() => {}');

  const plugin = new Elysia()
    .onStart((app) => {
      warnOfMissingSchemes(app.routes);
      users.add(app);
      hasBegun = true;
      core.start();
    })
    .onStop((app) => {
      users.delete(app);
      if (users.size === 0) core.stop();
    })
    .derive({ as: 'scoped' }, handOver)
    .macro(requirements);
  const instance = plugin as unknown as Instance & { getParent(): Instance };
  protectPlugin(instance, protection, handOver);
  meetCopies(instance);
  return plugin;
}

override(Elysia.prototype as unknown as Methods);
