import { Elysia } from 'elysia';

export interface ResourceMetadataOptions {
  /** Where clients reach the API, without a trailing slash: it is the identifier of the resource. */
  readonly publicUrl: string;
  /** The authorization server whose tokens are accepted. */
  readonly issuer: string;
  readonly hasDocumentation: boolean;
  /** Asked when someone asks for the metadata. */
  readonly scopes: () => readonly string[];
}

/** Returns the address of a resource's metadata: the well-known part goes between host and path (RFC 9728 §3.1). */
export function resourceMetadataUrl(publicUrl: string): string {
  const { origin, pathname } = new URL(publicUrl);
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
}

/** Returns the route of the metadata by which a client finds the authorization server (RFC 9728 §2). */
export function createResourceMetadata({ publicUrl, issuer, hasDocumentation, scopes }: ResourceMetadataOptions) {
  return new Elysia().get(new URL(resourceMetadataUrl(publicUrl)).pathname, () => ({
    resource: publicUrl,
    authorization_servers: [issuer],
    scopes_supported: scopes(),
    bearer_methods_supported: ['header'],
    ...(hasDocumentation && { resource_documentation: `${publicUrl}/openapi` }),
  }));
}
