import { coreOf } from '../guard/guard.ts';
import type { Guard, GuardOptions, OptionsFor } from '../types.ts';

/** What the security schemes show besides the options of the guard. */
export interface SecuritySchemeOptions {
  /** URL at which clients get tokens with the client-credentials grant. */
  readonly tokenEndpoint?: string | undefined;
  /** The scopes that the routes require, as {@link scopesOf} returns them. */
  readonly scopes?: readonly string[] | undefined;
}

/**
 * Returns the `components.securitySchemes` of an OpenAPI document, which the `security` of each guarded route names: a token of
 * the issuer, or an existing one. Without a token endpoint, `oauth2` has no flow.
 * @example
 * new Elysia().use(openapi({ documentation: { components: { securitySchemes: securitySchemes(options) } } }))
 * @param given the guard or its options
 */
export function securitySchemes(
  given: Partial<OptionsFor<unknown, never>> | Guard<object>,
  { tokenEndpoint, scopes = [] }: SecuritySchemeOptions = {},
) {
  const { dpop = 'off' } = coreOf(given)?.options ?? (given as Partial<GuardOptions>);
  const describedScopes = Object.fromEntries(scopes.map((scope) => [scope, 'Required by operations that list it']));
  const flows = tokenEndpoint !== undefined && {
    clientCredentials: { tokenUrl: tokenEndpoint, scopes: describedScopes },
  };
  const withProof = '`Authorization: DPoP <token>` and a proof in the `DPoP` header (RFC 9449)';
  const hints = {
    off: 'Use an existing access token',
    on: `Use an existing access token. If it is bound to a key, send it with ${withProof}`,
    required: `Use an existing access token, with ${withProof}`,
  };
  return {
    oauth2: {
      type: 'oauth2' as const,
      description: 'Get an access token with the client credentials grant',
      flows: { ...flows },
    },
    bearer: {
      type: 'http' as const,
      ...(dpop === 'required' ? { scheme: 'dpop' } : { scheme: 'bearer', bearerFormat: 'JWT' }),
      description: hints[dpop],
    },
  };
}

/**
 * Returns the OpenAPI security requirements of a guarded route. A client must meet one of them: a token from the issuer with the
 * scopes of one of these lists, an existing token, or none.
 */
export function securityOf(
  alternatives: readonly (readonly string[])[],
  isOptional: boolean,
): { oauth2?: string[]; bearer?: string[] }[] {
  return [...alternatives.map((scopes) => ({ oauth2: [...scopes] })), { bearer: [] }, ...(isOptional ? [{}] : [])];
}

/** Returns all scopes that these routes require. */
export function scopesOf(routes: readonly { readonly hooks: object }[]): string[] {
  const declared = routes.flatMap(({ hooks }) => {
    const { detail } = hooks as { readonly detail?: { readonly security?: { readonly oauth2?: string[] }[] } };
    return detail?.security ?? [];
  });
  return [...new Set(declared.flatMap(({ oauth2 }) => oauth2 ?? []))];
}
