import { describeFault } from '../../keys/fetch/fault.ts';
import { claimReader, findMalformed } from '../../token/claims.ts';
import { otherKindClaim } from '../../token/kinds.ts';
import type { FetchFault } from '../../types.ts';
import { type Check, check, doubtKind, type Explained, joined, otherApiOf, show, showTime } from './explained.ts';
import { describeChange, describeHeader, hasOtherType, requestAudience } from './header-checks.ts';
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

function describeKeys(explained: Explained): readonly Check[] {
  const { header, claims, options, lastFailure, keyFault, nameOf } = explained;
  const isOther = claims.iss !== undefined && explained.issuer === undefined;
  // An issuer's keys never verify another issuer's token, and one slash more makes it another issuer.
  const unless = (advice: string) =>
    isOther ? trustIssuer(explained) : `${advice}. Check ${nameOf('issuer')} and ${nameOf('jwksUri')}`;
  const issuer = explained.issuer ?? joined(options.issuer);
  const source = options.jwksUri === undefined ? `${nameOf('issuer')} is ${issuer}` : `${nameOf('jwksUri')} is set`;
  const kid = show(header.kid);
  const signedBy = header.kid === undefined ? kid : `by the key ${kid}`;
  const unnamed = `configure the issuer to put kid into the header${header.kid === undefined ? '' : ` as text, not ${kid}`}`;
  const key = {
    key_id_missing: unnamed,
    key_unknown: keyFault
      ? `${issuer} publishes the key ${kid}, ${keyFault}`
      : unless(`${issuer} does not publish the key ${kid}`),
    keys_unavailable: isOther ? trustIssuer(explained) : describeOutage(explained, issuer),
  };
  const signature = {
    signature_invalid: describeChange(explained) ?? unless('the token was cut or changed, or another issuer signed it'),
  };
  // A token without a kid is rejected before keys are looked for.
  const wanted =
    typeof header.kid === 'string' && header.kid !== ''
      ? lastFailure
        ? describeAttempts(explained, lastFailure, source)
        : source + describeKeyIds(explained)
      : 'a kid is required';
  return [
    check('key', kid, wanted, key, 'found in the key set'),
    check('signature', signedBy, 'the signature matches no key with this kid', signature, 'verified'),
  ];
}

/** An issuer with more keys than that has too many to compare by eye. */
const maxKeyIds = 10;

/** Returns which keys the issuer publishes, so that a `kid` of another form shows. */
function describeKeyIds({ keyIds = [] }: Explained): string {
  const more = keyIds.length - maxKeyIds;
  const ids = [...keyIds.slice(0, maxKeyIds), ...(more > 0 ? [`and ${more} more`] : [])];
  return ids.length === 0 ? '' : `, and it publishes the keys ${joined(ids)}`;
}

/** Returns what was wrong with the document that says most, and with each of the others. */
function describeAttempts({ nameOf }: Explained, failure: FetchFault, source: string): string {
  const fault = describeFault(failure, nameOf('jwksUri'));
  const but = failure.failure === 'issuer_mismatch' ? `, but ${source}` : '';
  return `${fault}${but}${failure.tried === undefined ? '' : `. Tried: ${failure.tried.join('; ')}`}`;
}

/** Returns what to change if the keys of the token's own issuer cannot be fetched. */
function describeOutage({ options, lastFailure, nameOf }: Explained, issuer: string): string {
  const [name, uri] = [nameOf('issuer'), nameOf('jwksUri')];
  const { failure, address, found } = lastFailure ?? {};
  if (failure === 'issuer_mismatch')
    return `keep ${name}, which is the iss of the token, and set ${uri} to the jwks_uri of ${address}`;
  if (failure === 'malformed' && found === 'metadata') return `leave ${uri} out: the keys are then found by ${name}`;
  const advice = `the keys of ${issuer} cannot be fetched. Check ${name} and ${uri}`;
  if (failure === 'no_usable_key') return `no key of ${issuer} can be used. Check ${nameOf('algorithms')}`;
  if (options.jwksUri !== undefined || failure === 'network' || failure === 'timeout') return advice;
  return `the keys of ${issuer} cannot be fetched. Copy jwks_uri of your issuer's metadata to ${uri}`;
}

function trustIssuer(explained: Explained): string {
  const { claims, isIntrospected, issuer, lookup, options, nameOf } = explained;
  if (lookup !== undefined && typeof claims.iss === 'string')
    return `${nameOf('issuer')} ${lookup}. It must return an object with exactly this issuer if you trust it`;
  if (issuer !== undefined) return `tid must be the tenant in iss, but is ${show(claims.tid)}`;
  const { iss } = claims;
  const isSlash = options.issuer.some((each) => `${each}/` === iss || each === `${iss}/`);
  const counts = isSlash ? 'The slash at its end is the only difference' : 'Every character counts';
  if (iss !== undefined) return `set ${nameOf('issuer')} to ${show(iss)} if you trust this issuer. ${counts}`;
  if (isIntrospected) return `${nameOf('introspect')} must respond with iss`;
  return describeChange(explained) ?? 'the issuer must put iss into the token';
}

function describeClaims(explained: Explained): readonly Check[] {
  const { claims, options, nowSeconds, nameOf } = explained;
  const required = Object.entries(options.requiredClaims);
  const renew = 'the client must request a new token';
  const tolerance = nameOf('clockToleranceSeconds');
  const wanted = `${tolerance} is ${options.clockToleranceSeconds}`;
  const expired = new Date(typeof claims.exp === 'number' ? claims.exp * 1000 : Number.NaN).toJSON();
  const audience = show(claims.aud ?? claims[options.audienceClaim]);
  const isOwn = [claims.aud ?? audience].flat().some((each) => each !== 'none' && !otherApiOf(show(each)));
  const own = `. If the token's audience identifies this API and no other, set ${nameOf('audience')} to it`;
  const setAudience = isOwn && doubtKind(claims) === '' ? own : '';
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
      audience_mismatch: `${requestAudience(options)}, or configure the issuer to put it into aud${setAudience}${wins}`,
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
