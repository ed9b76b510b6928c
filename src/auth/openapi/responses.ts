import { t } from 'elysia';
import type { GuardCore } from '../guard/core.ts';
import type { ChallengeParameters, RoutePolicy } from '../guard/requirements.ts';
import { rejectionsOf } from './describe-rejections.ts';
import { type DescribedResponse, responsesFor } from './describe-responses.ts';
import { schemaOf } from './schema-of.ts';
import { withTokenEndpoint } from './security-schemes.ts';

/*
 * What OpenAPI documents of Elysia say about its guarded routes. For other frameworks, describeResponses() returns it.
 */

/** The schema of an error. It names no type of TypeBox, which a package manager may hide from users. */
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
  // Elysia would add it when a route is called for the first time, and so change documents.
  return t.Object({ error, error_description: t.String() }, { title: 'ErrorResponse', additionalProperties: false });
}

/**
 * The responses of a guard without `formatRejection` and DPoP, for the `response` of a route or `guard`. Typed clients
 * then know them, and Elysia allows only the declared statuses. Without it, the plugin declares them for documents
 * only.
 */
export const guardResponses = {
  400: errorSchema('invalid_request'),
  401: errorSchema('missing_token', 'invalid_token'),
  503: errorSchema('temporarily_unavailable'),
};

/** The response to a token without the scope that a route requires. */
export const scopeResponses = { 403: errorSchema('insufficient_scope') };

/** Schemas that only document a response. Elysia must not use them to validate what a handler returns. */
const documenting = new WeakSet<object>();

/** Returns the schemas of a route's responses without those that only document. */
export function withoutDocumented(response: unknown): unknown {
  if (!isByStatus(response)) return response;
  return Object.fromEntries(Object.entries(response).filter(([, one]) => !documenting.has(Object(one))));
}

/** A guard that checks a route, and what it requires there. */
interface Layer {
  readonly use: { readonly core: GuardCore };
  readonly policy: Pick<RoutePolicy, 'challenge'>;
}

/**
 * Adds the rejections of these guards to what a document says about a route, unless the application describes them
 * itself.
 * @param required the names of the requirements of the route
 */
export function documentRejections(hooks: Record<string, unknown>, layers: readonly Layer[], required: string[]): void {
  const { response } = hooks;
  const detail = hooks.detail as { readonly responses?: object };
  const byGuard = layers.toReversed().map(({ use, policy }) => responsesOf(use.core, policy.challenge, required));
  const described = byGuard.length === 1 ? byGuard[0] : Object.assign({}, ...byGuard);
  if (response === undefined) {
    const isSuccessKnown = Object.keys(detail.responses ?? {}).some((status) => /^[23d]/.test(status));
    const success = isSuccessKnown ? {} : { 200: { description: 'Success' } };
    hooks.detail = { ...detail, responses: { ...success, ...described, ...detail.responses } };
  } else {
    // A new object, because Elysia validates with the given one. Of a route with a `response`, documents show nothing
    // else.
    const schemas = Object.entries<DescribedResponse>(described).map(([status, each]) => [status, toSchema(each)]);
    hooks.response = { ...Object.fromEntries(schemas), ...(isByStatus(response) ? response : { 200: response }) };
  }
}

type Responses = ReturnType<typeof responsesFor>;
const responsesByGuard = new WeakMap<GuardCore, Map<string, Responses>>();

/** Most routes have the same responses. */
function responsesOf(core: GuardCore, challenge: ChallengeParameters, required: readonly string[]): Responses {
  const ofGuard = responsesByGuard.get(core) ?? new Map<string, Responses>();
  responsesByGuard.set(core, ofGuard);
  const key = JSON.stringify([challenge, required]);
  const responses = ofGuard.get(key) ?? responsesFor(rejectionsOf(core, challenge, required));
  ofGuard.set(key, responses);
  return responses;
}

const schemas = new WeakMap<DescribedResponse, object>();

/** Returns a response as the `response` of a route has it, which cannot name the media type. */
function toSchema(described: DescribedResponse): object {
  const { description, headers, content } = described;
  const values = Object.values(content).flatMap(({ examples }) => Object.values(examples).map(({ value }) => value));
  const ofHeaders = Object.entries(headers).map(([name, header]) => [
    name,
    { ...header.schema, description: header.description },
  ]);
  const schema =
    schemas.get(described) ??
    t.Unsafe({ ...schemaOf(values), description, examples: values, headers: Object.fromEntries(ofHeaders) });
  schemas.set(described, schema);
  documenting.add(schema);
  return schema;
}

/** Whether a route has a schema for each status, instead of one for 200. */
function isByStatus(response: unknown): response is Readonly<Record<string, unknown>> {
  if (typeof response !== 'object' || response === null) return false;
  // Elysia's schemas have symbols, and some have nothing else.
  return Reflect.ownKeys(response).every((name) => typeof name === 'string' && /^\d+$/.test(name));
}

/** What was written here, and not by the application. A parent of the route may have a guard of its own. */
const written = new WeakSet<object>();

/** Adds to the document of a guarded route how clients may call it, unless the application says it itself. */
export function documentSecurity(hooks: Record<string, unknown>, ...route: Parameters<typeof securityOf>): void {
  const { security = undefined, ...others } = Object(hooks.detail);
  if (security !== undefined && !written.has(security)) return;
  // When a document is made, an application has said whether there is a token endpoint.
  const get = () => {
    const required = securityOf(...route);
    written.add(required);
    return required;
  };
  hooks.detail = Object.defineProperty(others, 'security', { get, enumerable: true });
}

/** What a client must meet one of: a token with these scopes, by the name of its scheme, or nothing. */
type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

/** Returns the alternatives that a client has on a route of this guard, whose plugin got `given`. */
function securityOf(
  { core, given }: { readonly core: GuardCore; readonly given: object },
  alternatives: readonly (readonly string[])[],
  isOptional: boolean,
): readonly SecurityRequirement[] {
  const hasEndpoint = withTokenEndpoint.has(core) || withTokenEndpoint.has(given);
  const names = core.options.dpop === 'required' ? ['dpop'] : ['bearer', ...(hasEndpoint ? ['oauth2'] : [])];
  const required = names.flatMap((name) => alternatives.map((scopes) => ({ [name]: scopes })));
  return isOptional ? [...required, {}] : required;
}

/** Returns all scopes that these routes require. */
export function scopesOf(routes: readonly { readonly hooks: object }[]): string[] {
  const declared = routes.flatMap(({ hooks }) => {
    const { detail } = hooks as { readonly detail?: { readonly security?: readonly SecurityRequirement[] } };
    return detail?.security ?? [];
  });
  return [...new Set(declared.flatMap(({ bearer = [], dpop = [], oauth2 = [] }) => [...bearer, ...dpop, ...oauth2]))];
}
