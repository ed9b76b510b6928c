import { namesOf } from '../keys/algorithms.ts';
import { inTenant } from '../keys/tenants.ts';
import { isDiscoverable, optionsByIssuer } from '../options/issuers.ts';
import { code, text } from '../options/kinds.ts';
import { checkMembers } from '../options/members.ts';
import { settingOf } from '../options/setting.ts';
import type { PublicNames } from '../proof/public-names.ts';
import type { CheckedOptions, GuardRequest, MetadataMembers, ResourceMembers } from '../types.ts';
import type { Members } from '../values/json.ts';
import { pathOf } from '../values/url.ts';
import type { PlainResponse } from './decision.ts';
import type { PreparedRejection } from './rejection.ts';

/** Pages of every origin may read the document: it is public, and a request for it has no effect. */
const crossOrigin = { 'access-control-allow-origin': '*' };
export const preflight = {
  ...crossOrigin,
  'access-control-allow-methods': 'GET, HEAD',
  // The wildcard does not include Authorization. MCP clients send their own header.
  'access-control-allow-headers': 'Content-Type, Authorization, *',
  'access-control-max-age': '86400',
};

const allowed = 'GET, HEAD, OPTIONS';

/** What the metadata say besides the options of the guard. */
export interface Details {
  /** In the form in which a client requests them. */
  readonly scopes: readonly string[];
  /** As the document has them. */
  readonly members: Members;
}

/**
 * Returns a function that serves the metadata of the protected resource (RFC 9728), and returns undefined for any other
 * request. It reads the details only for the document. Without `publicUrl`, it serves nothing.
 */
export function createMetadata(options: CheckedOptions, names: PublicNames, notAllowed: PreparedRejection) {
  const { dpop, clientCertificate } = options;
  const document = {
    authorization_servers: options.authorizationServers ?? authorizationServers(options),
    bearer_methods_supported: ['header'],
    ...(clientCertificate && { tls_client_certificate_bound_access_tokens: true }),
    ...(dpop !== 'off' && {
      dpop_signing_alg_values_supported: options.dpopAlgorithms.flatMap(namesOf),
      dpop_bound_access_tokens_required: dpop === 'required',
    }),
  };
  // RFC 9728 §7.10. A minute bounds how long a client goes on with what an operator has changed. A cache can leave the
  // Host out of its key.
  const caching = names.all.length > 1 ? 'no-store' : 'max-age=60';

  return (request: GuardRequest, readDetails: () => Details): PlainResponse | undefined => {
    const { method, url } = request;
    const name = names.all[names.find(request)];
    if (name === undefined || pathOf(url) !== name.metadataPath) return undefined;
    // Resources can have one path, and differ in the query (RFC 9728 §3.1).
    if (name.search !== '' && new URL(url).search !== name.search) return undefined;
    if (method === 'OPTIONS') return { status: 204, headers: preflight, body: null };
    if (method !== 'GET' && method !== 'HEAD') {
      const { status, text, contentType } = notAllowed;
      return { status, headers: { ...crossOrigin, 'content-type': contentType, allow: allowed }, body: text };
    }
    const headers = { ...crossOrigin, 'content-type': 'application/json' };
    const { scopes, members } = readDetails();
    const body = {
      resource: name.resource,
      ...document,
      // RFC 9728 §3.2: a parameter without values is left out.
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      ...members,
    };
    const text = JSON.stringify(body);
    const cached = { ...headers, 'cache-control': caching };
    if (method === 'GET') return { status: 200, headers: cached, body: text };
    // RFC 9110 §8.6: the length of what GET returns. Bun would send 0.
    const length = String(new TextEncoder().encode(text).length);
    return { status: 200, headers: { ...cached, 'content-length': length }, body: null };
  };
}

/**
 * Returns undefined if no issuer is a URL: RFC 9728 §3.2 wants no empty list. Instead of a template, clients get the
 * tenants that it accepts, or `organizations`, which signs in users of any tenant, but no personal accounts as `common`
 * does.
 */
function authorizationServers(options: CheckedOptions): readonly string[] | undefined {
  const discoverable = [...optionsByIssuer(options)].filter(([issuer, own]) => isDiscoverable(issuer, own));
  const servers = discoverable.flatMap(([issuer, { requiredClaims }]) =>
    (requiredClaims.tid ?? ['organizations']).map((tenant) => inTenant(issuer, String(tenant))),
  );
  const urls = [...new Set(servers)];
  return urls.length > 0 ? urls : undefined;
}

/**
 * Returns the members that the document shows to people.
 * @throws {TypeError} one is unknown, or not valid
 */
export const readResourceMembers = (given: ResourceMembers): Members =>
  toDocument(checkMembers(action, memberRules, given));

/** The same with the scopes that an application lists, which are validated as requirements are. */
export function readMetadataMembers(given: MetadataMembers) {
  const { scopes = [], ...members } = checkMembers(action, { ...memberRules, scopes: aList }, given);
  return { scopes, members: toDocument(members) };
}

const toDocument = (members: Members) =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [settingOf(name).toLowerCase(), value]));

const action = 'Cannot write metadata';
const aList = code<readonly string[]>('a list of scopes', Array.isArray);

const aText = text('text that is not blank');
const memberRules = {
  resourceName: aText,
  resourceDocumentation: aText,
  resourcePolicyUri: aText,
  resourceTosUri: aText,
};
