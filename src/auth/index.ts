// Another version of Elysia is one error, before anything else is imported.
import './elysia/internals.ts';

export { createGuard, describeRejections } from './elysia/options.ts';
export { resourceMetadata, resourceServer } from './elysia/plugins.ts';
export { isGuarded, type ListedRoute } from './elysia/routes.ts';
export type {
  Algorithm,
  Anonymous,
  Authentication,
  CheckedOptions,
  Claims,
  ClaimsSchema,
  EnvironmentError,
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
  RejectionFormat,
  ReplayStore,
  Requirements,
  ResourceMembers,
} from './guard.ts';
export { issuerMetadata, optionsFromEnvironment } from './guard.ts';
export { guardResponses, scopeResponses } from './openapi/responses.ts';
export { type SecuritySchemeOptions, scopesOf, securitySchemes } from './openapi/security.ts';
export type { PluginSettings, RequirementContext } from './types.ts';
