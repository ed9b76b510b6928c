import { isText, type Members } from '../../values/json.ts';
import { otherApiOf, show } from '../checks/explained.ts';

/* What is known of an issuer by its identifier: its page, and whether its tokens are for others at all. */

const site = 'https://protected-api.github.io/protected-api';

/** The page of each issuer that its identifier tells. Others have a page too, but an identifier of any form. */
const pages: readonly (readonly [page: string, identifier: RegExp])[] = [
  ['auth0', /\.auth0\.com\/$/],
  ['entra', /^https:\/\/(?:login\.microsoftonline\.\w+|sts\.windows\.net)\//],
  ['azure-b2c', /^https:\/\/[\w-]+\.(?:b2clogin|ciamlogin)\.com\//],
  ['forgerock', /\/oauth2\/realms\//],
  ['okta', /\.okta(?:preview|-emea)?\.com(?:\/|$)/],
  ['keycloak', /\/realms\/[^/]+$/],
  ['cognito', /^https:\/\/(?:issuer-)?cognito-idp\./],
  ['adfs', /\/adfs\/services\/trust$/],
  ['authentik', /\/application\/o\/[^/]+\/$/],
  ['better-auth', /\/api\/auth$/],
  ['clerk', /\.clerk\.accounts\.dev$|^https:\/\/clerk\./],
  ['curity', /\/oauth\/v2\/oauth-anonymous$/],
  ['descope', /^https:\/\/api\.descope\.com\/v1\/apps\//],
  ['firebase', /^https:\/\/securetoken\.google\.com\//],
  ['github-actions', /^https:\/\/token\.actions\.githubusercontent\.com(?:\/|$)/],
  ['gitlab-ci', /^https:\/\/gitlab\.com$/],
  ['google', /^https:\/\/accounts\.google\.com$/],
  ['identity-proxies', /^https:\/\/cloud\.google\.com\/iap$|\.cloudflareaccess\.com$/],
  ['kinde', /\.kinde\.com$/],
  ['kubernetes', /^https:\/\/kubernetes\.default\.svc/],
  ['logto', /\.logto\.app\/oidc$/],
  ['oracle', /^https:\/\/identity\.oraclecloud\.com\/?$/],
  ['ory', /\.oryapis\.com$/],
  ['pingone', /^https:\/\/auth\.pingone\./],
  ['sap', /\.hana\.ondemand\.com\/oauth\/token$|\.accounts\.ondemand\.com$/],
  ['stytch', /\.customers\.stytch\.(?:dev|com)$/],
  ['supabase', /\.supabase\.co\/auth\/v1$/],
  ['workos', /\.authkit\.app$|^https:\/\/api\.workos\.com(?:\/|$)/],
  ['zitadel', /\.zitadel\.cloud$/],
];

/** Returns the URL of the documentation of an issuer, if there is a page. */
export function pageOf(iss: unknown): string | undefined {
  const page = pages.find(([, identifier]) => isText(iss) && identifier.test(iss))?.[0];
  return page && `${site}/issuers/${page}`;
}

/** Returns why no settings accept tokens like this one, because only their issuer can verify them. */
export function whyNoSetting({ nonce }: Members, { iss, aud }: Members): string | undefined {
  if (/^https:\/\/[\w-]+\.okta(?:preview|-emea)?\.com$/.test(String(iss)))
    return 'No setting accepts this token: the org authorization server of Okta issues tokens for Okta alone. Request one from a custom authorization server, such as https://ORG.okta.com/oauth2/default';
  if (nonce !== undefined && [aud].flat().some((each) => otherApiOf(show(each)) !== undefined))
    return 'No setting accepts this token: Microsoft signs tokens for its own APIs so that only they can verify them. Request one for your API';
  return undefined;
}
