import { type Rejected, rejections } from '../../rejections.ts';
import type { CheckedOptions, FetchFault, GuardOptions, RejectionReason, Requirements } from '../../types.ts';
import { isJsonObject, type Members } from '../../values/json.ts';
import type { PastedProof } from '../pasted.ts';

/** What to do about a token that is rejected. */
export interface Advice {
  readonly text: string;
  /** The options that it changes, if any. What follows from them is found before they are printed. */
  readonly change?: Partial<GuardOptions>;
}

/** A check of the guard. Values of the token are not escaped. */
export interface Check {
  readonly name: string;
  /** What the token has; undefined if the check does not concern it. */
  readonly has: string | undefined;
  /** What the options want. */
  readonly wants: string;
  /** The reasons for which it rejects, each with advice, which is empty if the reason's description is enough. */
  readonly advice: Partial<Readonly<Record<RejectionReason, string | Advice>>>;
  readonly passed: string;
}

export const check = (
  name: string,
  has: Check['has'],
  wants: string,
  advice: Check['advice'],
  passed = 'accepted',
): Check => ({ name, has, wants, advice, passed });

/** Returns what to do for a reason: what a check advises, otherwise its description. */
export function adviceFor(checks: readonly Check[], reason: RejectionReason): Advice {
  const [advice = rejections[reason].description] = checks.flatMap((each) => each.advice[reason] || []);
  return typeof advice === 'string' ? { text: advice } : advice;
}

/** What the checks are described from. */
export interface Explained {
  readonly text: string;
  /** Decoded but not verified, as are the claims. Empty if they cannot be decoded. */
  readonly header: Members;
  readonly claims: Members;
  /** Whether the claims are what the application knows of a token that is not a JWT. */
  readonly isIntrospected?: boolean;
  readonly options: Omit<CheckedOptions, 'issuer'> & { readonly issuer: readonly string[] };
  /** The configured issuer that the token names; undefined if there is none. */
  readonly issuer?: string | undefined;
  /** What the option `issuer` has done, if it is a function. */
  readonly lookup?: string | undefined;
  readonly requirements: Requirements;
  /** Why the guard rejects the token, or would if its keys were known. */
  readonly rejected?: Rejected | undefined;
  readonly nowSeconds: number;
  /** Why the keys of the token's issuer cannot be fetched. */
  readonly lastFailure?: FetchFault | undefined;
  /** Why the key that the token names is not used although it is published; undefined otherwise. */
  readonly keyFault?: string | undefined;
  /** The IDs of the keys that the issuer publishes. Empty if they are not known. */
  readonly keyIds?: readonly string[] | undefined;
  /** Returns the name of an option, in the words of options or of settings. */
  readonly nameOf: (option: keyof CheckedOptions) => string;
  readonly proof?: ExplainedProof | undefined;
}

/** The proof that was pasted with a token. */
export interface ExplainedProof {
  readonly pasted: PastedProof;
  /** Of the key in it. */
  readonly thumbprint: string | undefined;
  /** If it is too old: why it was rejected when it was made, if it was. */
  readonly later: Rejected | undefined;
}

/** Returns what the check that rejected the token has expected, in the words of options. */
export function expectedBy({ rejected, nameOf }: Explained): string {
  const sayEach = ([name, value]: [string, unknown]): string | readonly never[] => {
    // A requirement is no setting.
    if (name === 'acr' || name === 'maxAge')
      return value === undefined ? [] : `${name} is ${[value].flat().join(' or ')}`;
    return `${nameOf(name as keyof CheckedOptions)} is ${isJsonObject(value) ? pairsOf(value) : [value].flat().join(', ')}`;
  };
  return joined(Object.entries(rejected?.expected ?? {}).flatMap(sayEach));
}

/** Returns the values of each name as settings have them. */
export const pairsOf = (object: Members): string =>
  joined(
    Object.entries(object).flatMap(([name, values]) => [values].flat().map((value) => `${name}=${value ?? 'none'}`)),
  );

/** Returns a value of a token as text. It is not escaped. */
export function show(value: unknown): string {
  if (value === undefined) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Names the claims that only ID tokens have: hashes of tokens, codes and states (OpenID Connect Core 1.0 §2). */
export function doubtKind(claims: Members): string {
  const signs = ['nonce', 'at_hash', 'c_hash', 's_hash'].filter((name) => name in claims);
  if (signs.length === 0) return '';
  // Dex gives its access tokens almost the same form. Those for an API name it beside the client.
  if (/\/dex$/.test(show(claims.iss)) && claims.azp !== undefined && !signs.includes('c_hash')) return '';
  return `It looks like an ID token, because it has ${joined(signs)}: send an access token`;
}

/** Audiences of other APIs than the reader's, which tokens often have because the client named no other. */
const otherApis: readonly (readonly [api: string, audience: RegExp])[] = [
  ['Microsoft Graph', /^(?:https:\/\/graph\.microsoft\.(?:com|us)\/?|00000003-0000-0000-c000-000000000000)$/],
  ['Azure AD Graph', /^(?:https:\/\/graph\.windows\.net\/?|00000002-0000-0000-c000-000000000000)$/],
  ['Azure Resource Manager', /^https:\/\/management\.(?:azure|core\.windows)\.(?:com|net)\/?$/],
  ['the account console of Keycloak', /^account$/],
  ['the userinfo endpoint of the issuer', /[/:]userinfo$/],
  ['every API', /^(?:\*|any)$/i],
  ['every client of the issuer', /^(?:api:\/\/)?default$|\/resources$/],
  ['AWS', /^sts\.amazonaws\.com$/],
  ['Azure', /^api:\/\/AzureADTokenExchange$/],
  ['Google Cloud', /^(?:https:)?\/\/iam\.googleapis\.com\//],
  ['every user of gcloud', /^32555940559\.apps\.googleusercontent\.com$/],
  ['every workflow of an owner at GitHub', /^https:\/\/github\.com\/[\w.-]+$/],
  ['every job of an instance of GitLab', /^https:\/\/gitlab\.[\w.-]+$/],
  ['the API server of Kubernetes', /^https:\/\/kubernetes\.default\.svc/],
];
export const otherApiOf = (audience: string) => otherApis.find(([, form]) => form.test(audience))?.[0];

/** An issuer of Keycloak, and not of ForgeRock, which has realms too. */
export const keycloak = /(?<!\/oauth2\b.*)\/realms\/[^/]+$/;
/** The issuers of Microsoft Entra: of tokens of version 1.0, and of version 2.0. */
export const entraV1 = /^https:\/\/sts\.(?:windows\.net|chinacloudapi\.cn)\//;
export const entraV2 = /^https:\/\/login\.(?:partner\.)?microsoftonline\.\w+\//;

export const joined = (values: readonly string[]) => values.join(', ');

export const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** Returns a time of a token in words: `in 23 hours`, `2 minutes ago`. */
export function showTime(value: unknown, nowSeconds: number): string {
  if (typeof value !== 'number' || !Number.isFinite(value)) return show(value);
  const seconds = Math.trunc(value - nowSeconds);
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return new Intl.RelativeTimeFormat('en').format(Math.trunc(seconds / size), unit);
}
