// Another version of Elysia is one error, before anything else is imported.
import './elysia/internals.ts';

export type { RequirementMacros } from './elysia/hooks.ts';
export type { RouteContext } from './elysia/internals.ts';
export { createGuard } from './elysia/options.ts';
export { type GuardPlugin, resourceMetadata, resourceServer } from './elysia/plugins.ts';
export { isGuarded, type ListedRoute } from './elysia/routes.ts';
export type * from './index.ts';
export type { ErrorSchema } from './openapi/responses.ts';
export { guardResponses, scopeResponses, scopesOf } from './openapi/responses.ts';
export type { MisspeltRequirements, PluginSettings, RequirementContext, RouteRequirements } from './types.ts';
