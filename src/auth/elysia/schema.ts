import { type ElysiaCustomStatusResponse, getSchemaValidator, type TSchema, t } from 'elysia';
import { describeRejections } from '../guard/describe-rejections.ts';
import { coreOf, type Guard } from '../guard/guard.ts';
import type { CheckedOptions, GuardOptions } from '../options.ts';
import { type ClaimsSchema, isStandardSchema } from '../token/claims-schema.ts';
import type { Requirement } from './plan.ts';

/** The schema of the Error object. Does not name types of TypeBox, which a package manager may hide from users of this package. */
export interface ErrorObject<Codes extends [string, ...string[]]>
  extends ReturnType<
    typeof t.Object<{ code: ReturnType<typeof t.UnionEnum<Codes>>; description: ReturnType<typeof t.String> }>
  > {}

/** Returns the schema of the Error object, for a status that is answered with these codes. */
export function errorObject<const Codes extends [string, ...string[]]>(...codes: Codes): ErrorObject<Codes> {
  // Without this, the type would use the first code as a default.
  const code = t.UnionEnum(codes, { default: undefined });
  return t.Object({ code, description: t.String() }, { title: 'Error' });
}

/**
 * The responses of the guard, for the `response` of a route or `guard`. Elysia then validates what handlers return with these
 * statuses, and they can return no other: without it, the plugin declares the responses for documents and typed clients.
 */
export const guardResponses = {
  401: errorObject('authorization_header_missing', 'invalid_header', 'invalid_claims', 'token_expired'),
  503: errorObject('key_set_unavailable'),
};

/** The response to a token without the scope that a route requires. */
export const scopeResponses = { 403: errorObject('Unauthorized') };

interface ErrorBody<Code extends string> {
  readonly code: Code;
  readonly description: string;
}

/** What typed clients know of the rejections of a guarded route. Handlers can still return any status. */
export type GuardRejections = Readonly<
  Record<
    401,
    ErrorBody<
      | 'authorization_header_missing'
      | 'invalid_header'
      | 'invalid_claims'
      | 'token_expired'
      | 'insufficient_user_authentication'
    >
  > &
    Record<503, ErrorBody<'key_set_unavailable' | 'replay_store_unavailable'>>
>;

/** The rejection of a token that a route denies. */
export type DeniedRejection = ElysiaCustomStatusResponse<403, ErrorBody<'Unauthorized'>, 403>;

const descriptions = {
  401: 'The access token is missing or is not accepted',
  403: 'The access token does not allow this request',
  503: 'The access token cannot be judged at the moment',
} as const;

/** Schemas that only document a response. Elysia must not validate with them what a handler returns. */
const documenting = new WeakSet<object>();

/** Returns the hooks of a route without schemas that only document. */
export function withoutDocumented<Hooks extends Readonly<Record<string, unknown>>>(hooks: Hooks): Hooks {
  const { response } = hooks;
  if (!isByStatus(response)) return hooks;
  return { ...hooks, response: Object.fromEntries(Object.entries(response).filter(([, one]) => !isDocumenting(one))) };
}

/** Adds the rejections of these guards to what a document says about a route, unless the application describes them itself. */
export function documentRejections(
  hooks: Record<string, unknown>,
  guards: readonly CheckedOptions[],
  required: readonly Requirement[],
): void {
  const { response } = hooks;
  const schemas = guards.map((options) => rejectionSchemas(options, required));
  const rejections = Object.assign({}, ...schemas.toReversed()) as Readonly<Record<string, TSchema>>;
  if (response !== undefined) {
    // A new object: Elysia validates with the one that it was given.
    hooks.response = { ...rejections, ...(isByStatus(response) ? response : { 200: response }) };
    return;
  }
  const detail = hooks.detail as { readonly responses?: object };
  const described = Object.entries(rejections).map(([status, { description, ...schema }]) => {
    const content = 'properties' in schema && { content: { 'application/json': { schema } } };
    return [status, { description, ...content }];
  });
  hooks.detail = { ...detail, responses: { ...Object.fromEntries(described), ...detail.responses } };
}

/** Returns a schema for each status with which a guard rejects requests. */
function rejectionSchemas(options: CheckedOptions, required: readonly Requirement[]) {
  const has = (name: Requirement[0]) => required.some(([each]) => each === name);
  const rejections = describeRejections(options, {
    ...(has('scope') && { scope: 'any' }),
    ...((has('acr') || has('maxAge')) && { acr: 'any' }),
  });
  const codes = new Map<keyof typeof descriptions, Set<string>>();
  const all = [...rejections, ...(has('authorize') ? [{ status: 403, code: 'Unauthorized' } as const] : [])];
  for (const { status, code } of all) codes.set(status, (codes.get(status) ?? new Set()).add(code));
  return Object.fromEntries(
    [...codes].map(([status, [first = '', ...others]]) => {
      const described = { description: descriptions[status] };
      const schema = options.errorBody ? t.Unknown(described) : { ...errorObject(first, ...others), ...described };
      documenting.add(schema);
      return [status, schema];
    }),
  );
}

const isDocumenting = (schema: unknown) => typeof schema === 'object' && schema !== null && documenting.has(schema);

/** Whether a route has a schema for each status, instead of one for 200. */
function isByStatus(response: unknown): response is Readonly<Record<string, unknown>> {
  if (typeof response !== 'object' || response === null) return false;
  // Schemas of Elysia have symbols, and some of them nothing else.
  return Reflect.ownKeys(response).every((name) => typeof name === 'string' && /^\d+$/.test(name));
}

export interface SecuritySchemeOptions {
  /** URL at which clients get tokens with the client-credentials grant. */
  readonly tokenEndpoint?: string | undefined;
  /** The scopes that the routes require, such as {@link scopesOf} returns. */
  readonly scopes?: readonly string[] | undefined;
}

/**
 * Returns the `components.securitySchemes` of an OpenAPI document, which the `security` of each guarded route names: a token of
 * the issuer, or an existing one. Without a token endpoint, `oauth2` has no flow.
 * @example
 * new Elysia().use(openapi({ documentation: { components: { securitySchemes: securitySchemes(options) } } }))
 * @param given the guard or its options
 */
export function securitySchemes(
  given: Partial<GuardOptions> | Guard,
  { tokenEndpoint, scopes = [] }: SecuritySchemeOptions = {},
) {
  const { dpop = 'off' } = coreOf(given)?.options ?? (given as Partial<GuardOptions>);
  const describedScopes = Object.fromEntries(scopes.map((scope) => [scope, 'Required by operations that list it']));
  const flows = tokenEndpoint !== undefined && {
    clientCredentials: { tokenUrl: tokenEndpoint, scopes: describedScopes },
  };
  const withProof = '`Authorization: DPoP <token>` and a proof in the header `DPoP` (RFC 9449)';
  const hints = {
    off: 'Use an existing access token',
    on: `Use an existing access token. One that is bound to a key is sent with ${withProof}`,
    required: `Use an existing access token, with ${withProof}`,
  };
  return {
    oauth2: {
      type: 'oauth2' as const,
      description: 'Get an access token with the client credentials grant',
      flows: { ...flows },
    },
    bearer: {
      type: 'http' as const,
      ...(dpop === 'required' ? { scheme: 'dpop' } : { scheme: 'bearer', bearerFormat: 'JWT' }),
      description: hints[dpop],
    },
  };
}

/**
 * Returns the OpenAPI security requirements of a guarded route, of which a client meets one: a token from the issuer with the
 * scopes of one of these lists, an existing token, or none.
 */
export function securityOf(
  alternatives: readonly (readonly string[])[],
  isOptional: boolean,
): { oauth2?: string[]; bearer?: string[] }[] {
  return [...alternatives.map((scopes) => ({ oauth2: [...scopes] })), { bearer: [] }, ...(isOptional ? [{}] : [])];
}

type Operations = Readonly<Record<string, { readonly security?: readonly object[] } | undefined>>;

interface OpenApiDocument {
  readonly paths?: Readonly<Record<string, Operations>>;
  readonly components?: { readonly securitySchemes?: object };
}

const examined = new WeakSet<object>();

/**
 * Warns where the document of @elysiajs/openapi names security schemes without defining them, which generators of clients reject.
 * @param routes none under @elysiajs/node, which starts plugins without the application
 */
export function warnOfMissingSchemes(routes: readonly { readonly handler: unknown }[] = []): void {
  const generate = routes.map(({ handler }) => handler).find((one) => Object(one).name === 'openAPISchema');
  if (typeof generate !== 'function' || examined.has(generate)) return;
  examined.add(generate);
  const { paths = {}, components = {} }: OpenApiDocument = generate();
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const named = operations.flatMap((operation) => (operation?.security ?? []).flatMap(Object.keys));
  const missing = [...new Set(named)].filter((name) => !(name in (components.securitySchemes ?? {})));
  if (missing.length > 0)
    // biome-ignore lint/suspicious/noConsole: without it, only generators of clients would notice.
    console.warn(
      `The OpenAPI document does not define the security schemes ${missing.join(', ')}: use openapi({ documentation: { components: { securitySchemes: securitySchemes(options) } } })`,
    );
}

/** Returns all scopes that these routes require. */
export function scopesOf(routes: readonly { readonly hooks: object }[]): string[] {
  const declared = routes.flatMap(({ hooks }) => {
    const { detail } = hooks as { readonly detail?: { readonly security?: { readonly oauth2?: string[] }[] } };
    return detail?.security ?? [];
  });
  return [...new Set(declared.flatMap(({ oauth2 }) => oauth2 ?? []))];
}

/** A schema of claims: of any library with Standard Schema, or Elysia's own `t`. */
export type AnySchema = ClaimsSchema | TSchema;

/** Returns a schema that implements Standard Schema. Elysia's own do not. */
export function toStandardSchema(schema: AnySchema): ClaimsSchema {
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
