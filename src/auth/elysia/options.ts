// What Elysia's door takes besides that of every server: Elysia's own `t` as the schema of the claims.
import type { Static, TSchema } from 'elysia';
import * as elysia from 'elysia';
import { createGuardCore, type GuardCore } from '../guard/core.ts';
import { coreOf, guardOf } from '../guard/guard.ts';
import { isStandardSchema } from '../token/claims-schema.ts';
import type { ClaimsOf, ClaimsSchema, Guard, GuardOptions, KnownGuard, MergedClaims, OptionsFor } from '../types.ts';
import { rememberFailure } from './closing.ts';

/** A schema of claims: of any library with Standard Schema, or Elysia's own `t`. */
export type AnySchema = ClaimsSchema | TSchema;

/** The claims that handlers get with this schema. */
export type ClaimsWith<Schema> = Schema extends TSchema ? MergedClaims<Static<Schema>> : ClaimsOf<Schema>;

export type AnyOptions = OptionsFor<AnySchema, never>;

/** Options whose schema can be Elysia's `t`. */
export type OptionsWith<Schema> = OptionsFor<Schema, ClaimsWith<Schema>>;

/** A guard, or the options of one. Editors complete only the options. */
export type GuardOr<Options, Handed extends object = object> = KnownGuard<Handed> | Options;

/** Returns a guard, as `createGuard` of `protected-api` does. The schema of the claims can be Elysia's `t`. */
export function createGuard<Schema extends AnySchema | undefined = undefined>(
  options: OptionsWith<Schema>,
): Guard<ClaimsWith<Schema>> {
  return guardOf(coreFrom(options as AnyOptions));
}

/**
 * Returns the core of a guard, or of a new one with these options.
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown
 */
export function coreFrom(given: GuardOr<AnyOptions>): GuardCore {
  try {
    return coreOf(given) ?? createGuardCore(withStandardSchema(given as AnyOptions));
  } catch (error) {
    throw rememberFailure(error);
  }
}

function withStandardSchema(options: AnyOptions): GuardOptions {
  const { claims } = Object(options) as AnyOptions;
  // The check of the options rejects any other value. Getters and inherited members of the options count.
  if (typeof claims !== 'object' || !claims || isStandardSchema(claims)) return options as GuardOptions;
  return Object.create(options, { claims: { value: toStandardSchema(claims), enumerable: true } });
}

function toStandardSchema(schema: TSchema): ClaimsSchema {
  // Without `additionalProperties`, Elysia rejects every claim that the schema does not name, and so every token.
  const validator = elysia.getSchemaValidator(schema, { dynamic: true, additionalProperties: true });
  const validate = (claims: unknown) =>
    validator.Check(claims)
      ? { value: validator.Decode?.(claims) ?? claims }
      : { issues: [...validator.Errors(claims)] };
  return { '~standard': { version: 1, vendor: 'elysia', validate } };
}
