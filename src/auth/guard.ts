export { describeRejections, type Rejection } from './guard/describe-rejections.ts';
export { createGuard } from './guard/guard.ts';
export { type IssuerMetadata, issuerMetadata } from './guard/issuer-metadata.ts';
export { optionsFromEnvironment } from './options/environment.ts';
export type {
  Algorithm,
  Anonymous,
  Authentication,
  Certificate,
  CheckedOptions,
  Claims,
  ClaimsSchema,
  ClientCertificate,
  EnvironmentError,
  Fetch,
  FetchFailure,
  FixedScope,
  Guard,
  GuardOptions,
  GuardRequest,
  GuardState,
  IssuerOptions,
  KeySetEvent,
  KeySetState,
  MetadataMembers,
  RefusalDescription,
  RefusalReason,
  RejectionFormat,
  ReplayStore,
  Requirements,
  ResourceMembers,
} from './types.ts';
