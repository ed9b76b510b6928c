import type { GuardCore } from '../guard/core.ts';
import { coreOf } from '../guard/guard.ts';
import type { Guard, GuardOptions, OptionsFor } from '../types.ts';

/** What the security schemes show besides the options of the guard. */
export interface SecuritySchemeOptions {
  /** URL at which clients get tokens with the client-credentials grant. */
  readonly tokenEndpoint?: string | undefined;
  /** The scopes that the routes require, as {@link scopesOf} returns them. */
  readonly scopes?: readonly string[] | undefined;
}

/** The guards, or the options that they were given, of which a document has the scheme `oauth2`. */
const withTokenEndpoint = new WeakSet<object>();

/**
 * Returns the `components.securitySchemes` of an OpenAPI document, which the `security` of each guarded route names: `bearer`, an
 * existing token, and with a token endpoint also `oauth2`. A guard that requires DPoP has `dpop` instead, because no token alone is
 * accepted. Routes name `oauth2` if this gets the guard or the object that they are guarded with.
 * @example
 * new Elysia().use(openapi({ documentation: { components: { securitySchemes: securitySchemes(guard) } } }))
 * @param given the guard or its options
 */
export function securitySchemes(
  given: Partial<OptionsFor<unknown, never>> | Guard<object>,
  { tokenEndpoint, scopes = [] }: SecuritySchemeOptions = {},
) {
  const core = coreOf(given);
  const { dpop = 'off' } = core?.options ?? (given as Partial<GuardOptions>);
  withTokenEndpoint[tokenEndpoint === undefined ? 'delete' : 'add'](core ?? given);
  const withProof = '`Authorization: DPoP <token>` and a proof in the `DPoP` header (RFC 9449)';
  if (dpop === 'required')
    return {
      dpop: { type: 'http' as const, scheme: 'dpop', description: `Use an existing access token, with ${withProof}` },
    };
  const description = `Use an existing access token${dpop === 'on' ? `. If it is bound to a key, send it with ${withProof}` : ''}`;
  const bearer = { type: 'http' as const, scheme: 'bearer', bearerFormat: 'JWT', description };
  if (tokenEndpoint === undefined) return { bearer };
  const describedScopes = Object.fromEntries(scopes.map((scope) => [scope, 'Required by operations that list it']));
  const oauth2 = {
    type: 'oauth2' as const,
    description: 'Get an access token with the client credentials grant',
    flows: { clientCredentials: { tokenUrl: tokenEndpoint, scopes: describedScopes } },
  };
  return { bearer, oauth2 };
}

/** What a client must meet one of: a token with these scopes, by the name of its scheme, or nothing. */
type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

/** Adds to what a document says about a guarded route how clients may call it, unless the application says it itself. */
export function documentSecurity(
  hooks: Record<string, unknown>,
  { core, given }: { readonly core: GuardCore; readonly given: object },
  alternatives: readonly (readonly string[])[],
  isOptional: boolean,
): void {
  const { security = undefined, ...others } = Object(hooks.detail);
  if (security !== undefined && !written.has(security)) return;
  // When a document is made, an application has said whether there is a token endpoint.
  const get = () => {
    const hasEndpoint = withTokenEndpoint.has(core) || withTokenEndpoint.has(given);
    const names = core.options.dpop === 'required' ? ['dpop'] : ['bearer', ...(hasEndpoint ? ['oauth2'] : [])];
    const required: SecurityRequirement[] = names.flatMap((name) => alternatives.map((scopes) => ({ [name]: scopes })));
    if (isOptional) required.push({});
    written.add(required);
    return required;
  };
  hooks.detail = Object.defineProperty(others, 'security', { get, enumerable: true });
}

/** What was written for a route here, and not by the application. A parent of the route has its own guard. */
const written = new WeakSet<object>();

/** Returns all scopes that these routes require. */
export function scopesOf(routes: readonly { readonly hooks: object }[]): string[] {
  const declared = routes.flatMap(({ hooks }) => {
    const { detail } = hooks as { readonly detail?: { readonly security?: readonly SecurityRequirement[] } };
    return detail?.security ?? [];
  });
  return [...new Set(declared.flatMap(({ bearer = [], dpop = [], oauth2 = [] }) => [...bearer, ...dpop, ...oauth2]))];
}
