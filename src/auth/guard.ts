export type { ClaimsSchema } from './guard/claims-schema.ts';
export type { Accepted, GuardState } from './guard/create-guard.ts';
export { describeRejections, type Rejection } from './guard/describe-rejections.ts';
export { type Anonymous, createGuard, type Guard } from './guard/guard.ts';
export type { ErrorBody, RefusalDescription } from './guard/rejection.ts';
export type { Requirements } from './guard/requirements.ts';
export type { FixedScope } from './guard/scopes.ts';
export type { Algorithm } from './jose/algorithms.ts';
export { isAllowedInMetadata, isLoopbackHost } from './keys/address.ts';
export type { Fetch, FetchFailure } from './keys/fetch-json.ts';
export type { KeySetEvent, KeySetState } from './keys/key-set.ts';
export { fetchMetadata } from './keys/metadata.ts';
export {
  boolean,
  type CheckedOptions,
  choice,
  type GuardOptions,
  integer,
  type OptionRule,
  optionalInteger,
  optionRules,
  readOptions,
  readRules,
  text,
} from './options.ts';
export { type Certificate, type ClientCertificate, clientCertificateFromHeader } from './proof/certificate.ts';
export { type ReplayStore, usualLifetimeMs } from './proof/replay-store.ts';
export type { RefusalReason } from './refusals.ts';
export type { Claims } from './token/claims.ts';
