export { type ResourceMetadataSettings, resourceMetadata } from './elysia/resource-metadata.ts';
export { type PluginSettings, type RequirementContext, resourceServer } from './elysia/resource-server.ts';
export { isGuarded, type ListedRoute } from './elysia/routes.ts';
export type {
  Algorithm,
  Anonymous,
  Authentication,
  CheckedOptions,
  Claims,
  ClaimsSchema,
  EnvironmentError,
  ErrorBody,
  FixedScope,
  Guard,
  GuardOptions,
  GuardRequest,
  GuardState,
  IssuerMetadata,
  IssuerOptions,
  KeySetEvent,
  RefusalDescription,
  RefusalReason,
  Rejection,
  ReplayStore,
  Requirements,
} from './guard.ts';
export {
  clientCertificateFromHeader,
  createGuard,
  describeRejections,
  issuerMetadata,
  optionsFromEnvironment,
} from './guard.ts';
export { guardResponses, scopeResponses } from './openapi/responses.ts';
export { type SecuritySchemeOptions, scopesOf, securitySchemes } from './openapi/security.ts';
