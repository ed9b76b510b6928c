import { claimReader, createClaimsChecks, findMalformed, readAudience } from '../../token/claims.ts';
import { otherKindClaim } from '../../token/kinds.ts';
import type { RejectionReason } from '../../types.ts';
import { isText } from '../../values/json.ts';
import {
  type Check,
  check,
  doubtKind,
  type Explained,
  entraV1,
  entraV2,
  expectedBy,
  joined,
  keycloak,
  otherApiOf,
  show,
  showTime,
} from './explained.ts';
import { describeHeader, hasOtherType, requestAudience } from './header-checks.ts';
import { describeKeys, trustIssuer } from './key-checks.ts';
import { describeBinding, describeRequirements } from './requirement-checks.ts';

/** Returns the checks in the order of the guard. With several issuers, the issuer decides which keys are used. */
export function describeChecks(explained: Explained): readonly Check[] {
  const { options, lookup, header, isIntrospected } = explained;
  const [issuer, ...claims] = describeClaims(explained);
  const keys = describeKeys(explained);
  // A token without a kid is rejected before its issuer is looked at.
  const isIssuerFirst = (options.issuer.length > 1 || lookup !== undefined) && typeof header.kid === 'string';
  const found = isIntrospected
    ? [describeIntrospection(explained), issuer]
    : [...describeHeader(explained), ...(isIssuerFirst ? [issuer, ...keys] : [...keys, issuer])];
  const rest = [...claims, ...describeBinding(explained), ...describeRequirements(explained)];
  return [...found, ...rest].filter((each) => each !== undefined);
}

const describeIntrospection = ({ claims, nameOf }: Explained) =>
  check('active', show(claims.active), `${nameOf('introspect')} must respond with active true`, {
    token_inactive: 'the client must request a new token',
    introspection_unavailable: `${nameOf('introspect')} failed, or returned no object`,
  });

/** Returns the checks of claims that the guard has, in its order. */
function describeClaims(explained: Explained): readonly Check[] {
  const { claims, options, nowSeconds } = explained;
  const expected = expectedBy(explained);
  const required = Object.keys(options.requiredClaims).map((name) => `${name}=${show(claimReader(name)(claims))}`);
  const time = (value: unknown) => (value === undefined ? 'none' : showTime(value, nowSeconds));
  const start = claims.nbf === undefined ? undefined : time(claims.nbf);
  const expired = new Date(typeof claims.exp === 'number' ? claims.exp * 1000 : Number.NaN).toJSON();
  const since = time(claims.exp);
  const renew = 'the client must request a new token';
  const described: Partial<Record<RejectionReason, Check>> = {
    issuer_mismatch: describeIssuer(explained),
    audience_mismatch: describeAudience(explained),
    required_claim_mismatch: check('claims', joined(required) || undefined, expected, {
      required_claim_mismatch: `the token has ${joined(required)}, and ${expected}: change that, or what the issuer adds`,
    }),
    type_unsupported: describeKind(explained),
    claims_malformed: describeForms(explained),
    token_expired: check('expiry', since, `it expired at ${expired}, and ${expected}`, {
      token_expired: `the token expired ${since}: ${renew}`,
    }),
    token_not_yet_valid: check('not before', start, expected, {
      token_not_yet_valid: describeStart(explained, start),
    }),
    token_too_old: check('age', time(claims.iat), expected, {
      token_too_old:
        claims.iat === undefined
          ? 'the issuer must put iat into the token'
          : `the token was issued ${time(claims.iat)}, and ${expected}: ${renew}`,
    }),
  };
  const reasons = createClaimsChecks({ ...options, issuer: '' }).map(({ rejection }) => rejection.reason);
  return reasons.flatMap((reason) => described[reason] ?? []);
}

/** Returns what to do about a token that is not valid yet. The clock tolerance is at most 300 seconds. */
function describeStart({ claims: { nbf }, nowSeconds, nameOf }: Explained, start?: string): string {
  const seconds = Math.ceil(Number(nbf) - nowSeconds);
  const why = `the token is valid only ${start} (nbf)`;
  // A number of seconds has so many digits only after the year 5000.
  if (seconds > 1e11) return `${why}: the issuer must write nbf in seconds, not in milliseconds`;
  const set = 'correct the clock of the issuer or of this machine';
  if (seconds > 300) return `${why}, which no setting allows: ${set}`;
  return `${why}: ${set}, or raise ${nameOf('clockToleranceSeconds')} to at least ${seconds} (at most 300)`;
}

function describeIssuer(explained: Explained): Check {
  const { claims, lookup, nameOf } = explained;
  const wanted = lookup === undefined ? expectedBy(explained) : `${nameOf('issuer')} ${lookup}`;
  const advice = trustIssuer(explained);
  const rejections = { issuer_mismatch: advice, issuer_unavailable: advice };
  return check(
    'issuer',
    show(claims.iss),
    wanted,
    rejections,
    lookup === undefined ? undefined : `accepted: ${wanted}`,
  );
}

function describeAudience(explained: Explained): Check {
  const { claims, options, nameOf } = explained;
  const named = readAudience(claims, options.audienceClaim);
  const names = [named].flat().filter(isText);
  const own = names.filter((each) => !otherApiOf(each));
  const mismatch = `${describeReceiver(names, options)}: ${addAudience(claims.iss, names, options)}`;
  // A list of audiences that is empty is one too.
  const wins =
    claims.aud === undefined || options.audienceClaim === 'aud'
      ? ''
      : `. aud wins: ${nameOf('audienceClaim')} counts only for a token without aud`;
  const setOwn = `. If the token's audience identifies this API and no other, set ${nameOf('audience')} to it`;
  const canSet = own.length > 0 && doubtKind(claims) === '';
  return check('audience', show(named), expectedBy(explained), {
    // No audience makes an access token of another kind.
    audience_mismatch:
      adviseKind(explained) ??
      (canSet ? { text: `${mismatch}${setOwn}${wins}`, change: { audience: own } } : `${mismatch}${wins}`),
  });
}

/** Returns how tokens of an issuer get the audience of this API. Two issuers ignore a parameter that names it. */
function addAudience(iss: unknown, names: readonly string[], options: Explained['options']): string {
  const [audience = 'your API'] = options.audience;
  if (names.includes('account') || keycloak.test(show(iss)))
    return `add an Audience mapper for ${audience} to a client scope that the client has`;
  if (entraV1.test(show(iss)) || entraV2.test(show(iss))) {
    const api = audience.includes(':') ? audience : `api://${audience}`;
    return `the client must request a scope of this API, such as ${api}/.default`;
  }
  return `${requestAudience(options)}, or configure the issuer to put it into aud`;
}

/** Returns whom a token is for. */
function describeReceiver(names: readonly string[], { audience, audienceClaim }: Explained['options']): string {
  const others = names.flatMap((name) => otherApiOf(name) ?? []);
  if (others.length > 0) return `the token is for ${joined(others)}`;
  if (names.length === 0) return `the token has no ${audienceClaim}`;
  const isSlash = names.some((name) => audience.some((each) => `${each}/` === name || each === `${name}/`));
  return `the token is for ${joined(names)}${isSlash ? ', and the slash at its end is the only difference' : ''}`;
}

/** Returns the claim by which a token is of another kind, with its value. */
function kindIn({ claims, options }: Explained): string | undefined {
  const name = otherKindClaim(claims, options.requiredClaims);
  return name && `${name} ${show(claims[name])}`;
}

function adviseKind(explained: Explained): string | undefined {
  const has = kindIn(explained);
  return has && `the token has ${has}: the client must send an access token, not another kind such as an ID token`;
}

function describeKind(explained: Explained): Check {
  const advice = adviseKind(explained);
  const expected = `no access token has this claim, unless ${explained.nameOf('requiredClaims')} names it`;
  return check('kind', kindIn(explained), expected, {
    ...(!hasOtherType(explained) && { type_unsupported: advice ?? '' }),
  });
}

function describeForms({ header, claims, isIntrospected }: Explained): Check {
  const isDecoded = isIntrospected || Object.keys(header).length > 0;
  const wrong = isDecoded ? findMalformed(claims) : [];
  const has = joined(wrong.map(({ name }) => `${name} ${show(claims[name])}`)) || undefined;
  const wants = joined(wrong.map(({ name, type }) => `${name} must be ${type}`)) || 'the payload must be a JSON object';
  return check('forms', has, wants, { claims_malformed: `the issuer must change the token: ${wants}` });
}
