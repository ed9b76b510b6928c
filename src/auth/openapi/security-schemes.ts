import { coreOf } from '../guard/guard.ts';
import type { Guard, GuardOptions, OptionsFor } from '../types.ts';

/** What the security schemes show besides the options of the guard. */
export interface SecuritySchemeOptions {
  /** URL at which clients get tokens with the client-credentials grant. */
  readonly tokenEndpoint?: string | undefined;
  /** The scopes that the routes require, as `scopesOf` of protected-api/elysia returns them. */
  readonly scopes?: readonly string[] | undefined;
}

/** The guards, or the options that they were given, of which a document has the scheme `oauth2`. */
export const withTokenEndpoint = new WeakSet<object>();

/**
 * Returns the `components.securitySchemes` of an OpenAPI document, which guarded routes name: `bearer`, an existing
 * token, and with a token endpoint also `oauth2`; or only `dpop` for a guard that requires it. Routes name `oauth2` if
 * this gets the guard or the object that they are guarded with.
 * @example
 * new Elysia().use(openapi({ documentation: { components: { securitySchemes: securitySchemes(guard) } } }))
 * @param given the guard or its options
 */
export function securitySchemes(
  given: Partial<OptionsFor<unknown, never>> | Guard<object>,
  { tokenEndpoint, scopes = [] }: SecuritySchemeOptions = {},
): {
  // Without names: an interface has no index signature, and the declaration of an application could not name it.
  [Name in 'bearer' | 'dpop']?: { type: 'http'; scheme: string; bearerFormat?: string; description: string };
} & {
  oauth2?: {
    type: 'oauth2';
    description: string;
    flows: { clientCredentials: { tokenUrl: string; scopes: Record<string, string> } };
  };
} {
  const core = coreOf(given);
  const { dpop = 'off' } = core?.options ?? (given as Partial<GuardOptions>);
  withTokenEndpoint[tokenEndpoint === undefined ? 'delete' : 'add'](core ?? given);
  const withProof = '`Authorization: DPoP <token>` and a proof in the `DPoP` header (RFC 9449)';
  if (dpop === 'required')
    return { dpop: { type: 'http', scheme: 'dpop', description: `Use an existing access token, with ${withProof}` } };
  const description = `Use an existing access token${dpop === 'on' ? `. If it is bound to a key, send it with ${withProof}` : ''}`;
  const bearer = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description } as const;
  if (tokenEndpoint === undefined) return { bearer };
  const describedScopes = Object.fromEntries(scopes.map((scope) => [scope, 'Required by operations that list it']));
  const flows = { clientCredentials: { tokenUrl: tokenEndpoint, scopes: describedScopes } };
  return {
    bearer,
    oauth2: { type: 'oauth2', description: 'Get an access token with the client credentials grant', flows },
  };
}
