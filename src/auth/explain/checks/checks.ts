import { claimReader, findMalformed } from '../../token/claims.ts';
import { otherKindClaim } from '../../token/kinds.ts';
import { isText } from '../../values/json.ts';
import { type Check, check, doubtKind, type Explained, joined, otherApiOf, show, showTime } from './explained.ts';
import { describeHeader, hasOtherType, requestAudience } from './header-checks.ts';
import { describeKeys, trustIssuer } from './key-checks.ts';
import { describeBinding, describeRequirements } from './requirement-checks.ts';

/** Returns the checks in the order of the guard. With several issuers, the issuer decides which keys are used. */
export function describeChecks(explained: Explained): readonly Check[] {
  const { claims, options, lookup, nameOf } = explained;
  const wanted = `${nameOf('issuer')} ${lookup ?? `is ${joined(options.issuer)}`}`;
  const advice = trustIssuer(explained);
  const rejections = { issuer_mismatch: advice, issuer_unavailable: advice };
  const accepted = lookup === undefined ? undefined : `accepted: ${wanted}`;
  const issuer = check('issuer', show(claims.iss), wanted, rejections, accepted);
  const keys = describeKeys(explained);
  // A token without a kid is rejected before its issuer is looked at.
  const isIssuerFirst = (options.issuer.length > 1 || lookup !== undefined) && typeof explained.header.kid === 'string';
  const found = explained.isIntrospected
    ? [describeIntrospection(explained), issuer]
    : [...describeHeader(explained), ...(isIssuerFirst ? [issuer, ...keys] : [...keys, issuer])];
  return [...found, ...describeClaims(explained), ...describeBinding(explained), ...describeRequirements(explained)];
}

const describeIntrospection = ({ claims, nameOf }: Explained) =>
  check('active', show(claims.active), `${nameOf('introspect')} must respond with active true`, {
    token_inactive: 'the client must request a new token',
    introspection_unavailable: `${nameOf('introspect')} failed, or returned no object`,
  });

function describeClaims(explained: Explained): readonly Check[] {
  const { claims, options, nowSeconds, nameOf } = explained;
  const required = Object.entries(options.requiredClaims);
  const renew = 'the client must request a new token';
  const tolerance = nameOf('clockToleranceSeconds');
  const wanted = `${tolerance} is ${options.clockToleranceSeconds}`;
  const expired = new Date(typeof claims.exp === 'number' ? claims.exp * 1000 : Number.NaN).toJSON();
  const audience = show(claims.aud ?? claims[options.audienceClaim]);
  const named: readonly unknown[] = [claims.aud ?? claims[options.audienceClaim]].flat();
  const own = named.filter(isText).filter((each) => !otherApiOf(each));
  const setOwn = `. If the token's audience identifies this API and no other, set ${nameOf('audience')} to it`;
  const setAudience = own.length > 0 && doubtKind(claims) === '' ? setOwn : '';
  const mismatch = `${requestAudience(options)}, or configure the issuer to put it into aud`;
  // A list of audiences that is empty is one too.
  const wins =
    claims.aud === undefined || options.audienceClaim === 'aud'
      ? ''
      : `. aud wins: ${nameOf('audienceClaim')} counts only for a token without aud`;
  const found = joined(required.map(([name]) => `${name}=${show(claimReader(name)(claims))}`)) || undefined;
  const names = `${nameOf('requiredClaims')} is ${joined(required.flatMap(([name, values]) => values.map((value) => `${name}=${value ?? 'none'}`)))}`;
  const { maxTokenAgeSeconds } = options;
  const issued = maxTokenAgeSeconds === undefined ? undefined : showTime(claims.iat, nowSeconds);
  const start = claims.nbf === undefined ? undefined : showTime(claims.nbf, nowSeconds);
  return [
    check('audience', audience, `${nameOf('audience')} is ${joined(options.audience)}`, {
      audience_mismatch: setAudience
        ? { text: `${mismatch}${setAudience}${wins}`, change: { audience: own } }
        : `${mismatch}${wins}`,
    }),
    check('claims', found, names, {
      required_claim_mismatch: `change ${nameOf('requiredClaims')}, or the claims that the issuer adds`,
    }),
    describeKind(explained),
    describeForms(explained),
    check('expiry', showTime(claims.exp, nowSeconds), `it expired at ${expired}, and ${wanted}`, {
      token_expired: renew,
    }),
    check('not before', start, wanted, {
      token_not_yet_valid: `the clocks of the issuer and of this machine differ. Raise ${tolerance} (at most 300)`,
    }),
    check('age', issued, `${nameOf('maxTokenAgeSeconds')} is ${maxTokenAgeSeconds}`, {
      token_too_old: claims.iat === undefined ? 'the issuer must put iat into the token' : renew,
    }),
  ];
}

function describeKind(explained: Explained): Check {
  const { claims, options, nameOf } = explained;
  const name = otherKindClaim(claims, options.requiredClaims);
  const has = name && `${name} ${show(claims[name])}`;
  const advice = 'the client must send an access token, not another kind of token such as an ID token';
  return check('kind', has, `no access token has this claim, unless ${nameOf('requiredClaims')} names it`, {
    ...(!hasOtherType(explained) && { type_unsupported: advice }),
  });
}

function describeForms({ header, claims, isIntrospected }: Explained): Check {
  const isDecoded = isIntrospected || Object.keys(header).length > 0;
  const wrong = isDecoded ? findMalformed(claims) : [];
  const has = joined(wrong.map(({ name }) => `${name} ${show(claims[name])}`)) || undefined;
  const wants = joined(wrong.map(({ name, type }) => `${name} must be ${type}`)) || 'the payload must be a JSON object';
  return check('forms', has, wants, { claims_malformed: `the issuer must change the token: ${wants}` });
}
