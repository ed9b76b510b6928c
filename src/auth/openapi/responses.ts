import { type Elysia, type ElysiaCustomStatusResponse, type TSchema, t } from 'elysia';
import type { CheckedOptions } from '../check-options.ts';
import { describeRejections } from '../guard/describe-rejections.ts';

/** The schema of the Error object. Does not name types of TypeBox, which a package manager may hide from users of this package. */
export interface ErrorObject<Codes extends [string, ...string[]]>
  extends ReturnType<
    typeof t.Object<{ code: ReturnType<typeof t.UnionEnum<Codes>>; description: ReturnType<typeof t.String> }>
  > {}

/** Returns the schema of the Error object for a status with these codes. */
export function errorObject<const Codes extends [string, ...string[]]>(...codes: Codes): ErrorObject<Codes> {
  // Without this, the type would use the first code as a default.
  const code = t.UnionEnum(codes, { default: undefined });
  return t.Object({ code, description: t.String() }, { title: 'Error' });
}

/**
 * The responses of the guard, for the `response` of a route or `guard`. Elysia then validates what handlers return, and allows
 * only the declared statuses. Without it, the plugin declares the responses only for documents and typed clients.
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

/** What typed clients know about the rejections of a guarded route. Handlers can still return any status. */
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

/** Adds responses to those that Elysia infers for the routes behind a plugin, as it does for a hook that returns them. */
export type WithResponses<Instance, Responses extends Readonly<Record<number, unknown>>> =
  Instance extends Elysia<
    infer Path,
    infer Singleton,
    infer Definitions,
    infer Metadata,
    infer Routes,
    infer Scoped,
    infer Local
  >
    ? Elysia<
        Path,
        Singleton,
        Definitions,
        Metadata,
        Routes,
        Omit<Scoped, 'response'> & { readonly response: Responses },
        Local
      >
    : never;

const descriptions = {
  401: 'The access token is missing or is not accepted',
  403: 'The access token does not allow this request',
  503: 'The access token cannot be checked at the moment',
} as const;

/** Schemas that only document a response. Elysia must not use them to validate what a handler returns. */
const documenting = new WeakSet<object>();

/** Returns the hooks of a route without schemas that only document. */
export function withoutDocumented<Hooks extends Readonly<Record<string, unknown>>>(hooks: Hooks): Hooks {
  const { response } = hooks;
  if (!isByStatus(response)) return hooks;
  return { ...hooks, response: Object.fromEntries(Object.entries(response).filter(([, one]) => !isDocumenting(one))) };
}

/**
 * Adds the rejections of these guards to what a document says about a route, unless the application describes them itself.
 * @param required the names of the requirements of the route
 */
export function documentRejections(
  hooks: Record<string, unknown>,
  guards: readonly CheckedOptions[],
  required: ReadonlySet<string>,
): void {
  const { response } = hooks;
  const schemas = guards.map((options) => rejectionSchemas(options, required));
  const rejections = Object.assign({}, ...schemas.toReversed()) as Readonly<Record<string, TSchema>>;
  if (response !== undefined) {
    // A new object, because Elysia validates with the original one.
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
function rejectionSchemas(options: CheckedOptions, required: ReadonlySet<string>) {
  const rejections = describeRejections(options, {
    ...(required.has('scope') && { scope: 'any' }),
    ...((required.has('acr') || required.has('maxAge')) && { acr: 'any' }),
  });
  const codes = new Map<keyof typeof descriptions, Set<string>>();
  const all = [...rejections, ...(required.has('authorize') ? [{ status: 403, code: 'Unauthorized' } as const] : [])];
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
  // Elysia's schemas have symbols, and some have nothing else.
  return Reflect.ownKeys(response).every((name) => typeof name === 'string' && /^\d+$/.test(name));
}
