import { Elysia, NotFoundError } from 'elysia';
import type { Guard, OptionsFor } from '../guard/guard.ts';
import { resourceMetadataPath } from '../guard/metadata.ts';
import { scopesOf } from '../openapi/security.ts';
import { markPublic } from './protections.ts';
import { type AnySchema, coreFrom } from './resource-server.ts';
import type { ListedRoute } from './routes.ts';

/** Settings of {@link resourceMetadata}. */
export interface ResourceMetadataSettings {
  /** URL of documentation for developers. */
  readonly resourceDocumentation?: string | undefined;
}

/**
 * Returns a plugin that serves the metadata from which clients learn the authorization servers and scopes of this API
 * (RFC 9728 §2), to browsers of every origin. The scopes are those that the routes of the application require. `publicUrl` is
 * required.
 * @example
 * const guard = createGuard({ issuer: 'https://tenant.example.com/', audience: 'https://api.example.com', publicUrl: 'https://api.example.com' });
 * new Elysia().use(resourceMetadata(guard)).use(resourceServer(guard))
 * @throws {TypeError} an option is invalid, or `publicUrl` is missing
 */
export function resourceMetadata(
  given: OptionsFor<AnySchema> | Guard,
  { resourceDocumentation }: ResourceMetadataSettings = {},
) {
  const { options, metadata } = coreFrom(given);
  const { publicUrl, resource = publicUrl } = options;
  if (resource === undefined) throw new TypeError('Cannot serve resource metadata: publicUrl is missing');
  // When a plugin is used, Elysia gives it a method that returns the routes of the whole application.
  const plugin = new Elysia() as Elysia & { getGlobalRoutes(): readonly ListedRoute[] };
  const serve = ({ request }: { readonly request: Request }) => {
    const response = metadata(request, () => scopesOf(plugin.getGlobalRoutes()), resourceDocumentation);
    return response ?? Promise.reject(new NotFoundError());
  };
  const path = resourceMetadataPath(resource);
  const hidden = { detail: { hide: true } };
  // Without a route for HEAD, Elysia replaces the length of the document by that of the empty body.
  plugin.head(path, markPublic(serve), hidden);
  return plugin.all(path, markPublic(serve), hidden);
}
