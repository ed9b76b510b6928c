export type { Algorithm } from './algorithm.ts';
export type { Claims } from './claims.ts';
export { isGuarded } from './guarded-routes.ts';
export type { KeySetEvent } from './key-set.ts';
export type { ResourceServerOptions } from './options.ts';
export type { RefusalDescription, RefusalReason } from './refusal.ts';
export { type ResourceMetadataOptions, resourceMetadata } from './resource-metadata.ts';
export { resourceServer } from './resource-server.ts';
export { guardResponses, scopeResponses } from './schema.ts';
