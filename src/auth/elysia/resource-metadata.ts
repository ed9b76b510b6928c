import { Elysia } from 'elysia';
import { checkOptions, type ResourceServerOptions } from '../options.ts';
import { proofAlgorithms } from '../proof/proof-key.ts';
import { type ListedRoute, markOpen } from './guarded-routes.ts';
import { scopesOf } from './schema.ts';

/** Options of {@link resourceMetadata}: those of the guard. `publicUrl` is required. */
export interface ResourceMetadataOptions extends ResourceServerOptions {
  readonly publicUrl: string;
  /** Address of documentation for developers. */
  readonly resourceDocumentation?: string | undefined;
}

/** Returns the path of a resource's metadata. The well-known part is inserted between host and path (RFC 9728 §3.1). */
export function resourceMetadataPath(publicUrl: string): string {
  const { pathname } = new URL(publicUrl);
  return `/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
}

/** Returns the address of a resource's metadata. */
export function resourceMetadataUrl(publicUrl: string): string {
  return new URL(publicUrl).origin + resourceMetadataPath(publicUrl);
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
  const { issuer, publicUrl, dpop } = checkOptions(options);
  if (publicUrl === undefined) throw new TypeError('Cannot serve resource metadata: publicUrl is missing');
  // When a plugin is used, Elysia gives it a method that returns the routes of the whole application.
  const plugin = new Elysia() as Elysia & { getGlobalRoutes(): readonly ListedRoute[] };
  const serve = () => ({
    resource: publicUrl,
    authorization_servers: issuer,
    scopes_supported: scopesOf(plugin.getGlobalRoutes()),
    bearer_methods_supported: ['header'],
    ...(dpop !== 'off' && { dpop_signing_alg_values_supported: proofAlgorithms }),
    ...(dpop === 'required' && { dpop_bound_access_tokens_required: true }),
    ...(resourceDocumentation !== undefined && { resource_documentation: resourceDocumentation }),
  });
  return plugin.get(resourceMetadataPath(publicUrl), markOpen(serve), { detail: { hide: true } });
}
