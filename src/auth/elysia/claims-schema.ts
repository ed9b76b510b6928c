import { getSchemaValidator, type TSchema } from 'elysia';
import { type ClaimsSchema, isStandardSchema } from '../token/claims-schema.ts';

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
