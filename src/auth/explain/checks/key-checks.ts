import { describeFault } from '../../keys/fetch/fault.ts';
import { canBeIssuer, isDiscoverable } from '../../options/issuers.ts';
import type { FetchFault } from '../../types.ts';
import { listed } from '../../values/ascii.ts';
import {
  type Advice,
  type Check,
  check,
  type Explained,
  entraV1,
  entraV2,
  joined,
  otherApiOf,
  show,
} from './explained.ts';
import { describeChange } from './header-checks.ts';

/*
 * Why the keys of a token's issuer are not found, or do not verify it: who can change that, and how.
 */

/** Returns the checks of the key and the signature. */
export function describeKeys(explained: Explained): readonly Check[] {
  const { header, claims, options, lastFailure, keyFault, keyIds = [], nameOf } = explained;
  const isOther = claims.iss !== undefined && explained.issuer === undefined;
  // An issuer's keys never verify another issuer's token, and one slash more makes it another issuer.
  const setting = options.jwksUri === undefined ? '' : `. Check ${nameOf('jwksUri')}, or leave it out`;
  const unless = (advice: string) => (isOther ? trustIssuer(explained) : advice + setting);
  const issuer = explained.issuer ?? joined(options.issuer);
  const source = options.jwksUri === undefined ? `${nameOf('issuer')} is ${issuer}` : `${nameOf('jwksUri')} is set`;
  const kid = show(header.kid);
  const signedBy = header.kid === undefined ? kid : `by the key ${kid}`;
  const unnamed = `configure the issuer to put kid into the header${header.kid === undefined ? '' : ` as text, not ${kid}`}`;
  const key = {
    key_id_missing: unnamed,
    key_unknown: keyFault
      ? `${issuer} publishes the key ${kid}, ${keyFault}`
      : unless(`${issuer} does not publish the key ${kid}: the issuer must, or another server has signed the token`),
    keys_unavailable: isOther ? trustIssuer(explained) : describeOutage(explained, issuer),
  };
  const signature = {
    signature_invalid: describeChange(explained) ?? unless('the token was cut or changed, or another issuer signed it'),
  };
  // So that a kid of another form shows.
  const published = keyIds.length === 0 ? '' : `, and it publishes the keys ${listed(keyIds)}`;
  // A token without a kid is rejected before keys are looked for.
  const wanted =
    typeof header.kid === 'string' && header.kid !== ''
      ? lastFailure
        ? describeAttempts(explained, lastFailure, source)
        : source + published
      : 'a kid is required';
  return [
    check('key', kid, wanted, key, 'found in the key set'),
    check('signature', signedBy, 'the signature matches no key with this kid', signature, 'verified'),
  ];
}

/** Returns what was wrong with the document that says most, and with each of the others. */
function describeAttempts({ nameOf }: Explained, failure: FetchFault, source: string): string {
  const fault = describeFault(failure, nameOf('jwksUri'));
  const but = failure.failure === 'issuer_mismatch' ? `, but ${source}` : '';
  return `${fault}${but}${failure.tried === undefined ? '' : `. Tried: ${failure.tried.join('; ')}`}`;
}

/** Documents that a server gives for any path, or at the wrong one: no key set is published there. */
const otherDocuments: readonly (string | undefined)[] = ['a page', 'no metadata', 'no jwks_uri'];

/** Returns what to change if the keys of the token's own issuer cannot be fetched, and who can change it. */
function describeOutage({ options, lastFailure, nameOf }: Explained, issuer: string): string {
  const [name, uri] = [nameOf('issuer'), nameOf('jwksUri')];
  const { failure, address, found, status = 0, tried = [] } = lastFailure ?? {};
  const isSet = options.jwksUri !== undefined;
  if (failure === 'issuer_mismatch')
    return `keep ${name}, which is the iss of the token, and set ${uri} to the jwks_uri of ${address}`;
  if (failure === 'malformed' && found === 'metadata') return `leave ${uri} out: the keys are then found by ${name}`;
  if (failure === 'network' || failure === 'timeout' || status === 429 || status >= 500)
    return `try again later: the keys of ${issuer} cannot be fetched now. If this lasts, check that ${address} can be reached from here`;
  // Otherwise metadata named the last URL.
  const isGuessed = isSet || (tried.length > 0 && tried.every((line) => line.includes('/.well-known/')));
  const isOther = isSet ? failure === 'malformed' && found !== 'no keys' : otherDocuments.includes(found);
  const isNowhere = isGuessed && (failure === 'status' || isOther);
  const fault = failure === 'status' ? tried.at(-1) : undefined;
  if (!isNowhere && lastFailure)
    return `the issuer must repair its key set, because no setting can: ${fault ?? describeFault(lastFailure, uri)}`;
  return isSet
    ? `${uri} is not the URL of the keys of ${issuer}: leave it out, or copy jwks_uri of the issuer's metadata`
    : `${issuer} has no metadata. If this is the iss of the token, the documentation of the issuer names the URL of its key set: set ${uri} to it`;
}

/** Returns how tokens of this issuer are accepted. */
export function trustIssuer(explained: Explained): string | Advice {
  const { claims, isIntrospected, issuer, lookup, options, nameOf } = explained;
  const { iss } = claims;
  if (lookup !== undefined && typeof iss === 'string')
    return `${nameOf('issuer')} ${lookup}. It must return an object with exactly this issuer if you trust it`;
  if (issuer !== undefined) return `tid must be the tenant in iss, but is ${show(claims.tid)}`;
  if (iss === undefined)
    return isIntrospected
      ? `${nameOf('introspect')} must respond with iss`
      : (describeChange(explained) ?? 'the issuer must put iss into the token');
  if (!canBeIssuer(iss)) return `no setting accepts the iss ${show(iss)}: the issuer must change it`;
  const isOwn = [claims.aud].flat().every((each) => otherApiOf(show(each)) === undefined);
  if (isOwn && entraV1.test(iss) && options.issuer.some((each) => entraV2.test(each)))
    return `the token has version 1.0, and ${nameOf('issuer')} is that of version 2.0: set requestedAccessTokenVersion to 2 in the manifest of the API`;
  const isSlash = options.issuer.some((each) => `${each}/` === iss || each === `${iss}/`);
  const counts = isSlash ? 'The slash at its end is the only difference' : 'Every character counts';
  const { jwksUri } = options;
  const uri = nameOf('jwksUri');
  const isFound = isDiscoverable(iss, options);
  const other = jwksUri === undefined ? '' : `, and leave ${uri} out,`;
  const keys = isSlash ? '' : isFound ? other : `, and ${uri} to the URL of its key set,`;
  const text = `set ${nameOf('issuer')} to ${iss}${keys} if you trust this issuer. ${counts}`;
  return { text, change: { issuer: iss, jwksUri: isFound ? undefined : (jwksUri ?? 'https://issuer.invalid/keys') } };
}
