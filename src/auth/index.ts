export { createGuard } from './guard/guard.ts';
export { type IssuerMetadata, issuerMetadata } from './guard/issuer-metadata.ts';
export { RejectionError } from './guard/rejection-error.ts';
export { describeRejections, type Rejection } from './openapi/describe-rejections.ts';
export type { DescribedResponse } from './openapi/describe-responses.ts';
export { describeResponses } from './openapi/describe-responses.ts';
export { type SecuritySchemeOptions, securitySchemes } from './openapi/security-schemes.ts';
export { optionsFromEnvironment } from './options/environment.ts';
export type {
  Accepted,
  Algorithm,
  Anonymous,
  AudienceByIssuerOptions,
  Authentication,
  Certificate,
  CheckedIssuer,
  CheckedOptions,
  CheckRequirements,
  Claims,
  ClaimsSchema,
  ClientCertificate,
  DpopMode,
  EnvironmentError,
  Fetch,
  FetchFailure,
  FindIssuer,
  FixedScope,
  Guard,
  GuardOptions,
  GuardRequest,
  GuardState,
  IssuerOptions,
  JwkSet,
  KeySetEvent,
  KeySetState,
  LookedUpIssuer,
  McpReason,
  MetadataMembers,
  OptionValues,
  ReadOptions,
  RejectionDescription,
  RejectionFormat,
  RejectionOptions,
  RejectionReason,
  ReplayStore,
  ReplayStoreEvent,
  Requirements,
  ResourceMembers,
  TokenType,
} from './types.ts';
