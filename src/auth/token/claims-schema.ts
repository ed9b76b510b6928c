import { deepFreeze, isJsonObject } from '../jose/encoding.ts';
import { ignoreRejection, isPromise } from '../jose/promises.ts';
import { type Refusal, refuse } from '../refusals.ts';
import type { Claims } from './claims.ts';
import type { VerifiedToken } from './verifier.ts';

/** A schema of any library that implements Standard Schema 1: zod, valibot, arktype and others. */
export interface ClaimsSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly unknown[] };

/** Schemas of some libraries are functions. */
export function isStandardSchema(value: unknown): value is ClaimsSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || !('~standard' in value))
    return false;
  const standard = value['~standard'];
  return isJsonObject(standard) && typeof standard.validate === 'function';
}

/**
 * Returns a function that applies the schema to the claims of a token, once while the token is cached: it returns the claims
 * merged with the output, frozen, or why they are rejected.
 * @throws {TypeError} from that function: the schema returns a promise, or its output is not an object
 */
export function createClaimsReader(schema: ClaimsSchema | undefined): (token: VerifiedToken) => Claims | Refusal {
  if (schema === undefined) return ({ claims }) => claims;
  const known = new WeakMap<VerifiedToken, Claims | Refusal>();

  function apply({ claims }: VerifiedToken, { validate }: ClaimsSchema['~standard']): Claims | Refusal {
    const copy = copyOf(claims);
    if (copy === undefined) return refuse('claims_unexpected');
    const result = validate(copy);
    if (isPromise(result)) {
      ignoreRejection(result);
      throw new TypeError('Cannot read claims: the schema must be synchronous, but it returned a promise');
    }
    if (result.issues) return refuse('claims_unexpected');
    if (!isJsonObject(result.value))
      throw new TypeError('Cannot read claims: the output of the schema is not an object');
    return deepFreeze({ ...claims, ...result.value });
  }

  return (token) => {
    const found = known.get(token) ?? apply(token, schema['~standard']);
    known.set(token, found);
    return found;
  };
}

/**
 * Some libraries write defaults and conversions into what they get. Returns undefined for claims that are nested too deeply for
 * the stack: Node.js copies 3,000 levels, and clients can choose some claims, such as `authorization_details` (RFC 9396).
 */
function copyOf(claims: Claims): unknown {
  try {
    return structuredClone(claims);
  } catch {
    return undefined;
  }
}
