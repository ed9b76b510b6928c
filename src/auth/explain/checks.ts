import type { Requirements } from '../guard/requirements.ts';
import { algorithmOf } from '../jose/algorithms.ts';
import type { Members } from '../jose/encoding.ts';
import type { FetchFault } from '../keys/fetch-json.ts';
import type { CheckedOptions } from '../options.ts';
import type { RefusalReason } from '../refusals.ts';
import { describeBinding } from './binding-check.ts';
import { describeRequirements } from './requirement-checks.ts';
import { list, plural, show, showTime } from './words.ts';

/** A check of the guard. Values of the token are not escaped. */
export interface Check {
  readonly name: string;
  /** What the token has; undefined if the check does not concern it. */
  readonly has: string | undefined;
  /** What the options want. */
  readonly wants: string;
  /** Defaults to `accepted`. */
  readonly passed?: string;
  /** The reasons with which it rejects, and what to do about each; empty if the description of the reason says all there is. */
  readonly advice: Partial<Readonly<Record<RefusalReason, string>>>;
}

/** What is known where a token is explained. */
export interface Explained {
  readonly text: string;
  /** Decoded but not verified, as are the claims. Empty if they cannot be decoded. */
  readonly header: Members;
  readonly claims: Members;
  /** As they hold for the token's issuer, if it is one of them. */
  readonly options: CheckedOptions & { readonly issuer: readonly string[] };
  readonly requirements: Requirements;
  readonly nowSeconds: number;
  /** Why the keys of the token's issuer cannot be fetched. */
  readonly lastFailure: FetchFault | undefined;
  /** Returns the name of an option, in the words of options or of settings. */
  readonly nameOf: (option: keyof CheckedOptions) => string;
}

/** Returns the checks in the order of the guard. With several issuers, the issuer decides which keys are used. */
export function describeChecks(explained: Explained): readonly Check[] {
  const keys = describeKeys(explained);
  const issuer = describeIssuer(explained);
  return [
    ...describeHeader(explained),
    ...(explained.options.issuer.length > 1 ? [issuer, ...keys] : [...keys, issuer]),
    ...describeClaims(explained),
    describeBinding(explained),
    ...describeRequirements(explained),
  ];
}

function describeHeader({ text, header, options, nameOf }: Explained): readonly Check[] {
  const { algorithms, tokenType } = options;
  const pasted =
    text === ''
      ? 'nothing was pasted. Paste a token, or pipe one to standard input'
      : 'paste one token and no other text';
  const opaque = text.startsWith('{')
    ? 'the JSON has no access_token'
    : `${requestAudience(options)}. Then the issuer sends a JWT`;
  const untyped =
    tokenType === 'jwt' ? '' : `. If the issuer gives its access tokens no typ, set ${nameOf('tokenType')} to jwt`;
  return [
    {
      name: 'format',
      has: text === '' ? 'nothing' : `${plural(text.length, 'character')} in ${plural(text.split('.').length, 'part')}`,
      wants: 'a signed JWT has three parts of base64url and at most 8192 characters',
      passed: 'signed JWT',
      advice: {
        credentials_missing: pasted,
        credentials_malformed: pasted,
        token_oversized: '',
        token_opaque: opaque,
        token_encrypted: 'configure the issuer to sign access tokens without encrypting them',
        token_malformed: '',
      },
    },
    {
      name: 'algorithm',
      has: show(header.alg),
      wants: `${nameOf('algorithms')} is ${list(algorithms)}`,
      advice: {
        algorithm_unsupported: algorithmOf(header.alg)
          ? `set ${nameOf('algorithms')} to ${show(header.alg)} if the issuer signs with it`
          : `configure the issuer to sign with ${algorithms.join(' or ')}`,
      },
    },
    {
      name: 'type',
      has: header.crit === undefined ? show(header.typ) : `crit ${show(header.crit)}`,
      wants: header.crit === undefined ? `${nameOf('tokenType')} is ${tokenType}` : 'no token with crit is accepted',
      advice: {
        type_unsupported: `the client must send an access token, not another kind of JWT such as an ID token${untyped}`,
        critical_header: '',
      },
    },
  ];
}

function describeKeys(explained: Explained): readonly Check[] {
  const { header, claims, options, lastFailure, nameOf } = explained;
  const isOther = claims.iss !== undefined && !options.issuer.some((name) => name === claims.iss);
  // The keys of an issuer verify no token of another, and one slash makes another.
  const unless = (advice: string) => (isOther ? trustIssuer(explained) : `${advice}. Check ${sources}`);
  const sources = `${nameOf('issuer')} and ${nameOf('jwksUri')}`;
  const issuer = options.issuer.find((name) => name === claims.iss) ?? list(options.issuer);
  const source = options.jwksUri === undefined ? `${nameOf('issuer')} is ${issuer}` : `${nameOf('jwksUri')} is set`;
  const failure = Object.entries(lastFailure ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value}`],
  );
  const kid = show(header.kid);
  return [
    {
      name: 'key',
      has: kid,
      wants: list([source, ...failure]),
      passed: 'found in the key set',
      advice: {
        key_id_missing: '',
        key_unknown: unless(`${issuer} does not publish the key ${kid}`),
        keys_unavailable: unless(`the keys of ${issuer} cannot be fetched`),
      },
    },
    {
      name: 'signature',
      has: `by the key ${kid}`,
      wants: 'the signature matches no key with this kid',
      passed: 'verified',
      advice: { signature_invalid: unless('the token was changed, or another issuer has signed it') },
    },
  ];
}

const requestAudience = ({ audience }: CheckedOptions) =>
  `the client must request a token for ${audience.join(' or ')} (Auth0: the parameter audience)`;

const trustIssuer = ({ claims, nameOf }: Explained) =>
  `set ${nameOf('issuer')} to ${show(claims.iss)} if you trust this issuer. Every character counts`;

function describeIssuer(explained: Explained): Check {
  const { claims, options, nameOf } = explained;
  const wants = `${nameOf('issuer')} is ${list(options.issuer)}`;
  return { name: 'issuer', has: show(claims.iss), wants, advice: { issuer_mismatch: trustIssuer(explained) } };
}

function describeClaims({ claims, options, nowSeconds, nameOf }: Explained): readonly Check[] {
  const required = Object.entries(options.requiredClaims);
  const tolerance = `${nameOf('clockToleranceSeconds')} is ${options.clockToleranceSeconds}`;
  return [
    {
      name: 'audience',
      has: show(claims.aud ?? claims[options.audienceClaim]),
      wants: `${nameOf('audience')} is ${list(options.audience)}`,
      advice: { audience_mismatch: requestAudience(options) },
    },
    {
      name: 'claims',
      has: list(required.map(([name]) => `${name}=${show(claims[name])}`)) || undefined,
      wants: `${nameOf('requiredClaims')} is ${list(required.map(([name, value]) => `${name}=${value}`))}`,
      advice: {
        required_claim_mismatch: `change ${nameOf('requiredClaims')}, or the claims that the issuer adds`,
      },
    },
    {
      name: 'expiry',
      has: showTime(claims.exp, nowSeconds),
      wants: tolerance,
      advice: {
        token_expired: 'the client must request a new token',
        claims_malformed: [claims.sub ?? '', claims.client_id ?? ''].every((name) => typeof name === 'string')
          ? ''
          : 'sub and client_id must be strings',
      },
    },
    {
      name: 'not before',
      has: claims.nbf === undefined ? undefined : showTime(claims.nbf, nowSeconds),
      wants: tolerance,
      advice: {
        token_not_yet_valid: `the clocks of the issuer and of this machine differ. Raise ${nameOf('clockToleranceSeconds')} (at most 300)`,
      },
    },
  ];
}
