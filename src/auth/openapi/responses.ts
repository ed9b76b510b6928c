import { t } from 'elysia';
import type { GuardCore } from '../guard/core.ts';
import { type Rejection, rejectionsOf } from '../guard/describe-rejections.ts';
import { groupBy } from '../values/group-by.ts';
import { schemaOf } from '../values/schema-of.ts';

/** The schema of an error. Does not name types of TypeBox, which a package manager may hide from users of this package. */
export interface ErrorSchema<Errors extends [string, ...string[]]>
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
 * The responses of a guard without `formatRejection` and DPoP, for the `response` of a route or `guard`. Typed clients then know
 * them, and Elysia validates what handlers return, and allows only the declared statuses. Without it, the plugin declares the
 * responses only for documents.
 */
export const guardResponses = {
  400: errorSchema('invalid_request'),
  401: errorSchema('missing_token', 'invalid_token'),
  503: errorSchema('temporarily_unavailable'),
};

/** The response to a token without the scope that a route requires. */
export const scopeResponses = { 403: errorSchema('insufficient_scope') };

const statusDescriptions: Readonly<Record<number, string>> = {
  400: 'The Authorization header is malformed',
  401: 'The access token is missing or is not accepted',
  403: 'This access token may not make this request',
  503: 'The access token cannot be checked at the moment',
};

/** Schemas that only document a response. Elysia must not use them to validate what a handler returns. */
const documenting = new WeakSet<object>();

/** Returns the schemas of a route's responses without those that only document. */
export function withoutDocumented(response: unknown): unknown {
  if (!isByStatus(response)) return response;
  return Object.fromEntries(Object.entries(response).filter(([, one]) => !documenting.has(Object(one))));
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
  const detail = hooks.detail as { readonly responses?: object };
  const rejections = new Map(guards.toReversed().flatMap((core) => [...rejectionsByStatus(core, required)]));
  const described = [...rejections].map(([status, sent]) => {
    const description = statusDescriptions[status] ?? 'Rejected';
    // It cannot name the media type.
    const schema = t.Unsafe({ ...schemaOf(sent.map(({ body }) => body)), description });
    documenting.add(schema);
    const content = [...groupBy(sent, ({ contentType }) => contentType)].map(([type, alike]) => {
      return [type, { schema: schemaOf(alike.map(({ body }) => body)) }];
    });
    return [status, response === undefined ? { description, content: Object.fromEntries(content) } : schema];
  });
  const responses = Object.fromEntries(described);
  // New objects, because Elysia validates with the original ones. Of a route with a `response`, documents show nothing else.
  if (response === undefined) hooks.detail = { ...detail, responses: { ...responses, ...detail.responses } };
  else hooks.response = { ...responses, ...(isByStatus(response) ? response : { 200: response }) };
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

/** Whether a route has a schema for each status, instead of one for 200. */
function isByStatus(response: unknown): response is Readonly<Record<string, unknown>> {
  if (typeof response !== 'object' || response === null) return false;
  // Elysia's schemas have symbols, and some have nothing else.
  return Reflect.ownKeys(response).every((name) => typeof name === 'string' && /^\d+$/.test(name));
}
