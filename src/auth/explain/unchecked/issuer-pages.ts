import type { RejectionReason } from '../../types.ts';
import { isText, type Members } from '../../values/json.ts';
import { entraV1, entraV2, otherApiOf, show } from '../checks/explained.ts';

/* What is known of an issuer by its identifier: its page, and whether its tokens are for others at all. */

const site = 'https://protected-api.github.io/protected-api';

/** Where the site has each issuer that its identifier tells, or that of its callers. The others have any form. */
const pages: readonly (readonly [page: string, identifier: RegExp])[] = [
  ['auth0', /\.auth0\.com\/$/],
  ['entra', entraV1],
  ['entra', entraV2],
  ['entra#azure-ad-b2c-and-entra-external-id', /^https:\/\/[\w-]+\.(?:b2clogin|ciamlogin)\.com\//],
  ['others#forgerock-and-pingam', /\/oauth2\/realms\//],
  ['okta', /\.okta(?:preview|-emea)?\.com(?:\/|$)/],
  ['keycloak', /\/realms\/[^/]+$/],
  ['cognito', /^https:\/\/(?:issuer-)?cognito-idp\./],
  ['others#ad-fs', /\/adfs\/services\/trust$/],
  ['others#authentik', /\/application\/o\/[^/]+\/$/],
  ['login-services#better-auth', /\/api\/auth$/],
  ['login-services#clerk', /\.clerk\.accounts\.dev$|^https:\/\/clerk\./],
  ['others#curity-identity-server', /\/oauth\/v2\/oauth-anonymous$/],
  ['others#dex', /\/dex$/],
  ['login-services#descope', /^https:\/\/api\.descope\.com\/v1\/apps\//],
  ['login-services#firebase', /^https:\/\/securetoken\.google\.com\//],
  ['others#github-actions', /^https:\/\/token\.actions\.githubusercontent\.com(?:\/|$)/],
  ['others#gitlab-ci', /^https:\/\/gitlab\.com$/],
  ['others#google-service-accounts', /^https:\/\/accounts\.google\.com$/],
  ['others#hashicorp-vault', /\/v1\/(?:[\w-]+\/)*identity\/oidc$/],
  ['others#identity-proxies', /^https:\/\/cloud\.google\.com\/iap$|\.cloudflareaccess\.com$/],
  ['login-services#kinde', /\.kinde\.com$/],
  ['others#kubernetes-service-accounts', /^https:\/\/kubernetes\.default\.svc|^system:serviceaccount:/],
  ['login-services#logto', /\.logto\.app\/oidc$/],
  ['others#oracle-identity-domains', /^https:\/\/identity\.oraclecloud\.com\/?$/],
  ['others#ory-hydra-and-ory-network', /\.oryapis\.com$/],
  ['others#pingone', /^https:\/\/auth\.pingone\./],
  ['others#sap-xsuaa-and-ias', /\.hana\.ondemand\.com\/oauth\/token$|\.accounts\.ondemand\.com$/],
  ['others#spire', /^spiffe:\/\//],
  ['login-services#stytch', /\.customers\.stytch\.(?:dev|com)$/],
  ['login-services#supabase', /\.supabase\.co\/auth\/v1$/],
  ['login-services#workos', /\.authkit\.app$|^https:\/\/api\.workos\.com(?:\/|$)/],
  ['others#zitadel', /\.zitadel\.cloud$/],
];

/** Returns the URL of the documentation of the issuer with this identifier, if there is a page. */
export function pageOf(iss: unknown): string | undefined {
  const page = pages.find(([, identifier]) => isText(iss) && identifier.test(iss))?.[0];
  return page && `${site}/issuers/${page}`;
}

/** The reasons that depend on settings which the page of an issuer has. */
const hasSettings: ReadonlySet<RejectionReason> = new Set([
  ...(['issuer_mismatch', 'audience_mismatch', 'required_claim_mismatch', 'algorithm_unsupported'] as const),
  ...(['keys_unavailable', 'key_unknown', 'scope_insufficient', 'type_unsupported'] as const),
]);

/** Returns a sentence with the page of the token's issuer, if it is known and can help. */
export function namePage(reason: RejectionReason, iss: unknown): string {
  const page = hasSettings.has(reason) ? pageOf(iss) : undefined;
  return page === undefined ? '' : `. Its settings: ${page}`;
}

/** Returns why no settings accept tokens like this one, because only their issuer can verify them. */
export function whyNoSetting({ nonce }: Members, { iss, aud }: Members): string | undefined {
  if (/^https:\/\/[\w-]+\.okta(?:preview|-emea)?\.com$/.test(String(iss)))
    return 'No setting accepts this token: the org authorization server of Okta issues tokens for Okta alone. Request one from a custom authorization server, such as https://ORG.okta.com/oauth2/default';
  const [api] = [aud].flat().flatMap((each) => otherApiOf(show(each)) ?? []);
  const isForGraph = api === 'Microsoft Graph' && pageOf(iss)?.endsWith('/entra');
  if (api !== undefined && (nonce !== undefined || isForGraph))
    return `No setting accepts this token: it is for ${api}, and Microsoft signs tokens for its own APIs so that only they can verify them. Request one for your API`;
  return undefined;
}
