import { Elysia } from 'elysia';
import { resourceMetadataPath } from '../guard/metadata.ts';
import { checkOptions, type GuardOptions } from '../options.ts';
import type { ListedRoute } from './locks.ts';
import { markOpen } from './locks.ts';
import { scopesOf } from './schema.ts';

/** Options of {@link resourceMetadata}: those of the guard. `publicUrl` is required. */
export interface ResourceMetadataOptions extends GuardOptions {
  readonly publicUrl: string;
  /** Address of documentation for developers. */
  readonly resourceDocumentation?: string | undefined;
}

/**
 * Returns a plugin that serves the metadata from which clients learn the authorization servers and scopes of this API
 * (RFC 9728 §2). The scopes are those that the routes of the application require.
 * @example
 * const options = { issuer: 'https://tenant.example.com/', audience: 'https://api.example.com', publicUrl: 'https://api.example.com' };
 * new Elysia().use(resourceMetadata(options)).use(resourceServer(options))
 * @throws {TypeError} an option is invalid, or `publicUrl` is missing
 */
export function resourceMetadata({ resourceDocumentation, ...options }: ResourceMetadataOptions) {
  const { issuer, publicUrl, resource = publicUrl, dpop, dpopAlgorithms } = checkOptions(options);
  if (resource === undefined) throw new TypeError('Cannot serve resource metadata: publicUrl is missing');
  // When a plugin is used, Elysia gives it a method that returns the routes of the whole application.
  const plugin = new Elysia() as Elysia & { getGlobalRoutes(): readonly ListedRoute[] };
  const serve = () => {
    const scopes = scopesOf(plugin.getGlobalRoutes());
    return {
      resource,
      authorization_servers: issuer,
      // RFC 9728 §3.2: a parameter without values is left out.
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      bearer_methods_supported: ['header'],
      ...(dpop !== 'off' && { dpop_signing_alg_values_supported: dpopAlgorithms }),
      ...(dpop === 'required' && { dpop_bound_access_tokens_required: true }),
      ...(resourceDocumentation !== undefined && { resource_documentation: resourceDocumentation }),
    };
  };
  return plugin.get(resourceMetadataPath(resource), markOpen(serve), { detail: { hide: true } });
}
