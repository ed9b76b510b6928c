import { getSchemaValidator, type TSchema, t } from 'elysia';
import { type ClaimsSchema, isStandardSchema } from '../token/claims-schema.ts';

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
 * The responses of the guard, for the `response` of a route or `guard`, so that typed clients can narrow errors by status. The
 * plugin does not declare them itself, because routes behind it could then not respond with other statuses.
 */
export const guardResponses = {
  401: errorObject('authorization_header_missing', 'invalid_header', 'invalid_claims', 'token_expired'),
  503: errorObject('key_set_unavailable'),
};

/** The response to a token without the scope that a route requires. */
export const scopeResponses = { 403: errorObject('Unauthorized') };

/** Returns the OpenAPI security requirements of a guarded route: a token from the issuer, an existing one, or none. */
export function securityOf(scopes: readonly string[], isOptional: boolean): { oauth2?: string[]; bearer?: string[] }[] {
  return [{ oauth2: [...scopes] }, { bearer: [] }, ...(isOptional ? [{}] : [])];
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
  if (isStandardSchema(schema) || typeof schema !== 'object') return schema as ClaimsSchema;
  // Without `additionalProperties`, Elysia rejects every claim that the schema does not name, and so every token.
  const validator = getSchemaValidator(schema as TSchema, { dynamic: true, additionalProperties: true });
  const validate = (claims: unknown) =>
    validator.Check(claims)
      ? { value: validator.Decode?.(claims) ?? claims }
      : { issues: [...validator.Errors(claims)] };
  return { '~standard': { version: 1, vendor: 'elysia', validate } };
}
