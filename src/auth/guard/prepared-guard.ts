import type { CheckRequirements, GuardRequest, MetadataMembers } from '../types.ts';
import { sharedMap } from '../values/shared.ts';
import type { Decision, PlainResponse, Rejection } from './decision.ts';

/** What doors use of a guard, also of one that another copy of the package has created. */
export interface PreparedGuard {
  /** Returns a check with these requirements, which are read at once. */
  prepare(requirements?: CheckRequirements): (request: GuardRequest) => Promise<Decision>;
  /** Returns a function that serves the metadata with these members, which are read at once. */
  prepareMetadata(members: MetadataMembers): (request: GuardRequest) => PlainResponse | undefined;
  toError(rejection: Rejection): Error;
}

/** The guards of all copies. */
export const guards = () => sharedMap<object, PreparedGuard>('guards');
