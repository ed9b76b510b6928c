import { type Rejected, rejectFor } from '../rejections.ts';
import type { Claims, ClaimsSchema } from '../types.ts';
import { createFaultWarning, ifPossible } from '../values/faults.ts';
import { deepFreeze, isJsonObject } from '../values/json.ts';
import { ignoreRejection, isThenable } from '../values/promises.ts';
import type { VerifiedToken } from './verifier.ts';

/** Schemas of some libraries are functions. */
export function isStandardSchema(value: unknown): value is ClaimsSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || !('~standard' in value))
    return false;
  const standard = value['~standard'];
  return isJsonObject(standard) && typeof standard.validate === 'function';
}

/**
 * Returns a function that applies the schema to the claims of a token, once while the token is cached: it returns the
 * claims merged with the output, frozen, or why they are rejected. A schema that throws, returns a promise or no object
 * cannot check this token. It is rejected, with one warning, because a client may have chosen the value of a claim.
 */
export function createClaimsReader(schema: ClaimsSchema | undefined): (token: VerifiedToken) => Claims | Rejected {
  if (schema === undefined) return ({ claims }) => claims;
  const { '~standard': standard } = schema;
  const known = new WeakMap<VerifiedToken, Claims | Rejected>();
  const report = createFaultWarning('check claims', 'the schema', 'Tokens are rejected');

  function warn(problem: string): Rejected {
    report(problem);
    return rejectFor('claims_unexpected');
  }

  function apply({ claims }: VerifiedToken): Claims | Rejected {
    // Some libraries write defaults into what they get. Claims that are nested too deeply cannot be copied: clients can
    // choose some, such as `authorization_details` (RFC 9396).
    const copy = ifPossible(() => structuredClone(claims));
    if (copy === undefined) return rejectFor('claims_unexpected');
    try {
      const result = standard.validate(copy);
      if (isThenable(result)) {
        ignoreRejection(result);
        return warn('returned a promise, but it must be synchronous');
      }
      if (result.issues) return rejectFor('claims_unexpected');
      if (!isJsonObject(result.value)) return warn('returned an output that is not an object');
      return deepFreeze({ ...claims, ...result.value });
    } catch {
      return warn('threw an exception');
    }
  }

  return (token) => {
    const found = known.get(token) ?? apply(token);
    known.set(token, found);
    return found;
  };
}
