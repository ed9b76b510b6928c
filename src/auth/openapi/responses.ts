import { type Elysia, type ElysiaCustomStatusResponse, type TSchema, t } from 'elysia';
import type { GuardCore } from '../guard/core.ts';
import { type Rejection, rejectionsOf } from '../guard/describe-rejections.ts';
import type { RefusalDescription, RejectionFormat } from '../types.ts';
import { schemaOf } from './schema-of.ts';

/** The schema of an error. Does not name types of TypeBox, which a package manager may hide from users of this package. */
interface ErrorSchema<Errors extends [string, ...string[]]>
  extends ReturnType<
    typeof t.Object<{
      error: ReturnType<typeof t.UnionEnum<Errors>>;
      error_description: ReturnType<typeof t.String>;
    }>
  > {}

function errorSchema<const Errors extends [string, ...string[]]>(...errors: Errors): ErrorSchema<Errors> {
  // Without this, the type would use the first error as a default.
  const error = t.UnionEnum(errors, { default: undefined });
  return t.Object({ error, error_description: t.String() }, { title: 'Error' });
}

/**
 * The responses of a guard without `formatRejection` and DPoP, for the `response` of a route or `guard`. Elysia then validates
 * what handlers return, and allows only the declared statuses. Without it, the plugin declares the responses only for documents
 * and typed clients.
 */
export const guardResponses = {
  400: errorSchema('invalid_request'),
  401: errorSchema('missing_token', 'invalid_token'),
  503: errorSchema('temporarily_unavailable'),
};

/** The response to a token without the scope that a route requires. */
export const scopeResponses = { 403: errorSchema('insufficient_scope') };

interface ErrorBody<Name extends RefusalDescription['error'] = RefusalDescription['error']> {
  readonly error: Name;
  readonly error_description: string;
}

type UsualRejections = Readonly<
  Record<400, ErrorBody<'invalid_request'>> &
    Record<
      401,
      ErrorBody<'missing_token' | 'invalid_token' | 'invalid_dpop_proof' | 'insufficient_user_authentication'>
    > &
    Record<503, ErrorBody<'temporarily_unavailable'>>
>;

/** What is known of the rejections of a guard, by what its `formatRejection` returns. */
type FormatKind<Format> = unknown extends Format
  ? 'unknown'
  : [keyof Format] extends [never]
    ? 'usual'
    : RejectionFormat extends Format
      ? 'unknown'
      : [StatusOf<Format>] extends [never]
        ? 'usual statuses'
        : 'own statuses';
type BodyOf<Format> = Format extends { readonly body: infer Body } ? Body : ErrorBody;
type StatusOf<Format> = Format extends { readonly status: infer Status } ? Status : never;

/** What typed clients know about the rejections of a guarded route. Handlers can still return any status. */
export type GuardRejections<Format> = {
  readonly usual: UsualRejections;
  readonly 'usual statuses': Readonly<Record<400 | 401 | 503, BodyOf<Format>>>;
  readonly 'own statuses': number extends StatusOf<Format>
    ? Record<never, never>
    : Readonly<Record<StatusOf<Format> & number, BodyOf<Format>>>;
  readonly unknown: Record<never, never>;
}[FormatKind<Format>];

/** The rejection of a token that a route denies. Statuses of its own are among those of the guard. */
export type DeniedRejection<Format> = {
  readonly usual: ElysiaCustomStatusResponse<403, ErrorBody<'insufficient_scope' | 'access_denied'>, 403>;
  readonly 'usual statuses': ElysiaCustomStatusResponse<403, BodyOf<Format>, 403>;
  readonly 'own statuses': undefined;
  readonly unknown: undefined;
}[FormatKind<Format>];

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

const descriptions: Readonly<Record<number, string>> = {
  400: 'The Authorization header is malformed',
  401: 'The access token is missing or is not accepted',
  403: 'The access token does not allow this request',
  503: 'The access token cannot be checked at the moment',
};

/** Schemas that only document a response. Elysia must not use them to validate what a handler returns. */
const documenting = new WeakSet<object>();

/** Returns the schemas of a route's responses without those that only document. */
export function withoutDocumented(response: unknown): unknown {
  if (!isByStatus(response)) return response;
  return Object.fromEntries(Object.entries(response).filter(([, one]) => !isDocumenting(one)));
}

/**
 * Adds the rejections of these guards to what a document says about a route, unless the application describes them itself.
 * @param required the names of the requirements of the route
 */
export function documentRejections(
  hooks: Record<string, unknown>,
  guards: readonly GuardCore[],
  required: ReadonlySet<string>,
): void {
  const { response } = hooks;
  const rejections = new Map(guards.toReversed().flatMap((core) => [...rejectionsByStatus(core, required)]));
  if (response !== undefined) {
    const schemas = [...rejections].map(([status, sent]) => [status, documentingSchema(status, sent)]);
    // A new object, because Elysia validates with the original one.
    hooks.response = { ...Object.fromEntries(schemas), ...(isByStatus(response) ? response : { 200: response }) };
    return;
  }
  const detail = hooks.detail as { readonly responses?: object };
  const described = [...rejections].map(([status, sent]) => {
    const content = [...groupBy(sent, ({ contentType }) => contentType)].map(([type, alike]) => {
      return [type, { schema: schemaOf(alike.map(({ body }) => body)) }];
    });
    return [status, { description: descriptions[status] ?? 'Rejected', content: Object.fromEntries(content) }];
  });
  hooks.detail = { ...detail, responses: { ...Object.fromEntries(described), ...detail.responses } };
}

/** Returns how a guard rejects requests to a route with these requirements. */
function rejectionsByStatus(core: GuardCore, required: ReadonlySet<string>): ReadonlyMap<number, readonly Rejection[]> {
  const rejections = rejectionsOf(core, {
    ...(required.has('scope') && { scope: 'any' }),
    ...((required.has('acr') || required.has('maxAge')) && { acr: 'any' }),
  });
  const possible = rejections.filter(({ reason }) => reason !== 'access_denied' || required.has('authorize'));
  return groupBy(possible, ({ status }) => status);
}

/** Returns a schema of these bodies. It cannot name their media type. */
function documentingSchema(status: number, rejections: readonly Rejection[]): TSchema {
  const schema = t.Unsafe({
    ...schemaOf(rejections.map(({ body }) => body)),
    description: descriptions[status] ?? 'Rejected',
  });
  documenting.add(schema);
  return schema;
}

function groupBy<Key, Value>(values: readonly Value[], keyOf: (value: Value) => Key): ReadonlyMap<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return groups;
}

const isDocumenting = (schema: unknown) => typeof schema === 'object' && schema !== null && documenting.has(schema);

/** Whether a route has a schema for each status, instead of one for 200. */
function isByStatus(response: unknown): response is Readonly<Record<string, unknown>> {
  if (typeof response !== 'object' || response === null) return false;
  // Elysia's schemas have symbols, and some have nothing else.
  return Reflect.ownKeys(response).every((name) => typeof name === 'string' && /^\d+$/.test(name));
}
