import type { Members } from '../values/json.ts';

/*
 * An issuer with `{tenantid}` in its path stands for all tenants of a server, as Microsoft Entra ID has them. Which
 * tokens and keys belong to it is decided here. The option requiredClaims lists the tenants that may call.
 */

const placeholder = '{tenantid}';

export const isTemplate = (issuer: string) => issuer.includes(placeholder);

/** Returns an issuer with a tenant in place of its placeholder, which must be a whole segment of its path. */
export const inTenant = (issuer: string, tenant: string) => issuer.replace(/(?<=[^/]\/)\{tenantid\}(?=\/|$)/, tenant);

/** Returns the identifier below which metadata and keys are: for a template, what Entra serves for all tenants. */
export const withCommonTenant = (issuer: string) => inTenant(issuer, 'common');

/** Entra writes tenant IDs in lower case (RFC 9562 §4). */
export const isTenant = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(value);

/** Whether `iss` is this issuer, exactly, or this template with the token's own `tid` in it. */
export function isIssuedBy(issuer: string, { iss, tid }: Members): boolean {
  return isTemplate(issuer) ? isTenant(tid) && iss === inTenant(issuer, tid) : iss === issuer;
}

/**
 * Whether a key may verify a token with these claims. Entra publishes keys that are for one tenant only, also where a
 * guard names tenants one by one. Other servers may mean something else by this member, unless it is a URL.
 */
export function isKeyFor(claims: Members, issuer: string, keyIssuer: string | undefined): boolean {
  if (keyIssuer === undefined) return true;
  if (isTemplate(issuer)) return isIssuedBy(keyIssuer, claims);
  const isLimited = /^https?:/i.test(keyIssuer) && !isTemplate(keyIssuer);
  return !isLimited || claims.iss === keyIssuer;
}

/** Returns a function that finds what belongs to an `iss`, exactly or by the template that it fits. */
export function createIssuerLookup<Value>(byIssuer: ReadonlyMap<string, Value>): (iss: unknown) => Value | undefined {
  // Stryker disable next-line MethodExpression: speed only, other issuers are found by their identifiers
  const templates = [...byIssuer].filter(([issuer]) => isTemplate(issuer));
  const fitting = (iss: string) =>
    templates.find(([issuer]) => {
      const at = issuer.indexOf(placeholder);
      return isIssuedBy(issuer, { iss, tid: iss.slice(at, at + 36) });
    });
  return (iss) => (typeof iss === 'string' ? (byIssuer.get(iss) ?? fitting(iss)?.[1]) : undefined);
}
