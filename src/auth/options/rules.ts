import { algorithmOf, algorithms } from '../keys/algorithms.ts';
import { clientCertificateFromHeader, isCertificateHeader, isConnectionHeader } from '../proof/certificate.ts';
import { defaultProofAlgorithms, proofAlgorithmOf, proofAlgorithms } from '../proof/proof-algorithms.ts';
import { isStandardSchema } from '../token/claims-schema.ts';
import type { Algorithm, CheckedOptions, ClientCertificate, OptionValues, OwnName, ProofAlgorithm } from '../types.ts';
import { isPlainWord } from '../values/ascii.ts';
import { ifPossible } from '../values/faults.ts';
import { isJsonObject, isListOf, isRecord, isText } from '../values/json.ts';
import { isSecureUrl } from '../values/url.ts';
import { createIssuersReader, isUrl } from './issuers.ts';
import type { DefaultedRule, OptionRule } from './kinds.ts';
import { boolean, callback, choice, code, integer, list, oneOrMore, pairs, text, withDefault } from './kinds.ts';
import type { Sentence } from './wording.ts';

/*
 * How each option is validated, and its default: one row each, for code and for settings. What an option means is said
 * in types.ts.
 */

const readClaimName = (value: unknown) =>
  isText(value) && !(value.startsWith('/') && /~(?![01])/.test(value)) ? value : undefined;

/** Values are compared as text: a number or a boolean by its JSON form. `tid` lists tenants, so it cannot be null. */
function readRequiredValues(name: string, given: unknown): readonly (string | null)[] | undefined {
  const values = [given]
    .flat()
    .map((each) => (typeof each === 'boolean' || Number.isFinite(each) ? String(each) : each));
  const isValue = (each: unknown): each is string | null =>
    isText(each) || (each === null && !['tid', '/tid'].includes(name));
  const isValid = readClaimName(name) !== undefined && values.length > 0 && isListOf(values, isValue);
  return isValid ? [...new Set(values)] : undefined;
}

function areHeaders(value: unknown): boolean {
  if (!isRecord(value) || !Object.values(value).every((member) => typeof member === 'string')) return false;
  if (Object.keys(value).some(isConnectionHeader)) return false;
  return ifPossible(() => new Headers(value as Record<string, string>)) !== undefined;
}

const maxDurationSeconds = 1_000_000;
const loopback = 'http is allowed for loopback hosts';
const aPlainUrl = 'an https URL without query, fragment, credentials, quotes or braces';
const anHttpsUrl = `${aPlainUrl} (${loopback})`;
const keySetUrl: Sentence = ({ nameOf }) =>
  `an https URL without fragment or credentials (${loopback}, and with ${nameOf('jwksAllowHttp')})`;
const aScopePrefix = text('printable ASCII without spaces, quotes or backslashes', isPlainWord);

/** A rule has a default if its option always has a value and may be left out. */
type RuleOf<Name extends keyof CheckedOptions, Value = NonNullable<CheckedOptions[Name]>> =
  OptionValues extends Readonly<Record<Name, unknown>> ? DefaultedRule<Value> : OptionRule<Value>;
type Rules<Names extends keyof CheckedOptions> = { readonly [Name in Names]: RuleOf<Name> };

/** The options that a single issuer can have. */
const ownRules: Rules<OwnName> = {
  audience: {
    ...oneOrMore('the API identifier that tokens contain in aud'),
    required: 'the identifier of your API, such as https://api.example.com',
  },
  jwksUri: text(keySetUrl, (value) => isSecureUrl(value, true)),
  algorithms: {
    ...withDefault(list<Algorithm>(`a list of ${algorithms.join(', ')} or Ed25519`, algorithmOf), ['RS256']),
    // RFC 8725 §3.1.
    advice: 'HS256 is not accepted, because whoever can verify such a token can also sign one',
  },
  scopeClaim: withDefault(list('a list of claim names, or JSON Pointers that begin with /', readClaimName), ['scope']),
  requiredClaims: {
    ...pairs(
      'name=value',
      'an object that maps each claim name, or JSON Pointer that begins with /, to the required string, number or boolean, to null if it must be missing (other than tid), or to a list of allowed ones',
      readRequiredValues,
    ),
    advice: ({ areInCode }) =>
      `To allow several values, ${areInCode ? 'give a list' : 'repeat the name. For values with a comma or a backslash, write a JSON object'}`,
  },
  jwksAllowHttp: boolean(false),
  introspect: callback(),
  keys: code(
    'a JWK Set',
    (value) => isJsonObject(value) && isListOf(value.keys, isJsonObject) && value.keys.length > 0,
  ),
};

const ownNames = Object.keys(ownRules).map((name) => `${name}?`);
const otherForms = `, or a list of such URLs and of objects { issuer, ${ownNames.join(', ')} }, or a function that returns such an object`;

/** The rule of every option. */
export const optionRules: Rules<keyof CheckedOptions> = {
  issuer: {
    kind: 'list',
    expected: ({ areInCode, nameOf }) =>
      `the URL of the authorization server, ${aPlainUrl} other than {tenantid} (${loopback}, and with ${nameOf('jwksAllowHttp')})${areInCode ? otherForms : ''}`,
    required: 'the `iss` of your tokens, such as https://tenant.example.com/',
    ...createIssuersReader(ownRules),
  },
  ...ownRules,
  tokenType: choice(['jwt', 'at+jwt'], 'jwt'),
  requireScope: boolean(false),
  scopePrefix: aScopePrefix,
  scopeRequestPrefix: aScopePrefix,
  scopeImplies: pairs('broad=narrow', 'an object that maps each scope to the scopes that it grants', (broad, narrow) =>
    isPlainWord(broad) && isListOf(narrow, isPlainWord) ? [...narrow] : undefined,
  ),
  audienceClaim: withDefault(text('the name of a claim'), 'aud'),
  dpop: choice(['off', 'on', 'required'], 'off'),
  dpopAlgorithms: withDefault(
    list<ProofAlgorithm>(`a list of ${proofAlgorithms.join(', ')} or Ed25519`, proofAlgorithmOf),
    defaultProofAlgorithms,
  ),
  dpopProofMaxAgeSeconds: withDefault(integer(10, 300), 60),
  dpopNonceSecret: {
    kind: 'list',
    expected: 'a secret of at least 32 characters, or a list of two',
    isSecret: true,
    read: readSecrets,
  },
  publicUrl: { ...oneOrMore(anHttpsUrl), read: readPublicUrl },
  jwksMaxAgeSeconds: withDefault(integer(1, maxDurationSeconds), 600),
  jwksMaxStaleSeconds: withDefault(integer(0, maxDurationSeconds), 86_400),
  jwksCooldownSeconds: withDefault(integer(1, 3600), 30),
  jwksTimeoutSeconds: withDefault(integer(1, 60), 5),
  clockToleranceSeconds: withDefault(integer(0, 300), 0),
  maxTokenAgeSeconds: integer(1, 31_536_000),
  tokenCacheSize: withDefault(integer(0, 1_000_000), 10_000),
  clientCertificate: {
    kind: 'text',
    expected: ({ areInCode }) =>
      `${areInCode ? 'a function, or ' : ''}the name of a header that only a proxy sets, such as Client-Cert`,
    read: readClientCertificate,
  },
  authorizationServers: {
    ...list(`a list, each member ${aPlainUrl} (${loopback}, and with jwksAllowHttp)`, (value) =>
      isText(value) && isUrl(value, true) ? value : undefined,
    ),
    kind: 'code',
  },
  resource: code(
    `an https URL without fragment, credentials, quotes or braces (${loopback})`,
    (value) => isText(value) && isSecureUrl(value.startsWith('/') ? `https://a.invalid${value}` : value, false),
  ),
  claims: code('a schema that implements Standard Schema', isStandardSchema),
  replayStore: code(
    'an object with a markUsed method',
    (value) => isJsonObject(value) && typeof value.markUsed === 'function',
  ),
  webSocketProtocol: code("'bearer'", (value) => value === 'bearer'),
  isRevoked: callback(),
  onAccepted: callback(),
  onRejected: callback(),
  onKeySetEvent: callback(),
  onReplayStoreEvent: callback(),
  formatRejection: callback(),
  errorHeaders: code('an object of header names and values, without connection-specific headers', areHeaders),
  waitUntil: callback(),
  fetch: callback(),
};

/** A list of one is that one. A URL that is listed twice stays so, because that is a mistake. */
function readPublicUrl(value: unknown): string | readonly string[] | undefined {
  const urls: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!isListOf(urls, (each): each is string => isText(each) && isUrl(each)) || urls.length === 0) return undefined;
  return urls.length === 1 ? urls[0] : [...urls];
}

function readSecrets(value: unknown): readonly string[] | undefined {
  const secrets: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isSecret = (each: unknown): each is string => isText(each) && each.length >= 32;
  return isListOf(secrets, isSecret) && secrets.length > 0 && secrets.length < 3 ? [...secrets] : undefined;
}

function readClientCertificate(value: unknown): ClientCertificate | undefined {
  if (typeof value === 'function') return value as ClientCertificate;
  return isText(value) && isCertificateHeader(value)
    ? (clientCertificateFromHeader(value) as ClientCertificate)
    : undefined;
}
