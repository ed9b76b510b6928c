import { algorithmOf, algorithmRules } from '../../keys/algorithms.ts';
import { maxTokenLength } from '../../rejections.ts';
import { allowsType } from '../../token/header.ts';
import { isPlaceholder } from '../../token/introspection.ts';
import { type Check, check, type Explained, expectedBy, plural, show } from './explained.ts';

/*
 * What is wrong with the text and the header of a token, and what clients and proxies send in its place. The checks of
 * keys and claims are in checks.ts.
 */

/** Returns the checks of what can be decided about a token before a key is needed. */
export const describeHeader = (explained: Explained): readonly Check[] => [
  describeFormat(explained),
  describeAlgorithm(explained),
  describeType(explained),
];

function describeFormat(explained: Explained): Check {
  const { text, header, options } = explained;
  const size = `${plural(text.length, 'character')} in ${plural(text.split('.').length, 'part')}`;
  const sent = describeSent(text);
  const pasted = sent ?? 'paste one token and no other text';
  const request = `${requestAudience(options)}. Then the issuer sends a JWT`;
  const encrypted =
    header.alg === 'dir'
      ? `${requestAudience(options)}. Otherwise Auth0 encrypts the token`
      : 'configure the issuer to sign access tokens without encrypting them';
  const advice = {
    credentials_missing: pasted,
    credentials_malformed: pasted,
    token_oversized: sent ?? 'the token is too long: configure the issuer to put fewer claims, such as groups, into it',
    token_opaque: sent ?? `the token is no JWT: ${request}`,
    token_encrypted:
      header.alg !== undefined && header.enc === undefined
        ? (text.includes('..') && describeChange(explained)) || 'these are two tokens: paste one'
        : `the token is encrypted: ${encrypted}`,
    token_malformed:
      sent ??
      describeChange(explained) ??
      // A header in base64 begins so. Tokens of some issuers have two dots, and are no JWTs.
      (text.startsWith('eyJ') ? undefined : `the token is no JWT, although it has two dots: ${request}`) ??
      'the token was cut or changed: compare its length with that of the token from the issuer',
  };
  const wants = `a signed JWT has three parts of base64url and at most ${maxTokenLength} characters`;
  return check('format', text === '' ? 'nothing' : size, wants, advice, 'signed JWT');
}

function describeAlgorithm(explained: Explained): Check {
  const { header, options, nameOf } = explained;
  const cut = header.enc === undefined ? undefined : describeChange(explained);
  const named = algorithmOf(header.alg);
  const advice = named
    ? {
        text: `the token is signed with ${named}: set ${nameOf('algorithms')} to ${named} if the issuer signs with it`,
        change: { algorithms: [named] },
      }
    : `${whyNoAlgorithm(header.alg)}: configure the issuer to sign with ${options.algorithms.join(' or ')}`;
  return check('algorithm', show(header.alg), expectedBy(explained), { algorithm_unsupported: cut ?? advice });
}

function describeType(explained: Explained): Check {
  const { header, options, nameOf } = explained;
  const { crit, typ } = header;
  // A type such as logout+jwt is that of no access token.
  const isCommon = options.tokenType !== 'jwt' && allowsType('jwt', typ);
  const untyped = isCommon ? `. If the issuer's access tokens have no typ, set ${nameOf('tokenType')} to jwt` : '';
  const text = `the token has the type ${show(typ)}: the client must send an access token, not another kind of JWT such as an ID token${untyped}`;
  const advice = isCommon ? { text, change: { tokenType: 'jwt' as const } } : text;
  const wants = crit === undefined ? expectedBy(explained) : 'no token with crit is accepted';
  return check('type', crit === undefined ? show(typ) : `crit ${show(crit)}`, wants, {
    ...(hasOtherType(explained) && { type_unsupported: advice }),
    critical_header: 'configure the issuer to leave crit out of the header',
  });
}

/** Returns why no setting accepts an algorithm. */
function whyNoAlgorithm(alg: unknown): string {
  if (alg === undefined || /^none$/i.test(String(alg))) return 'the token is not signed';
  const isShared = typeof alg === 'string' && alg.startsWith('HS');
  return `no setting accepts a token that is signed with ${show(alg)}${isShared ? ' and a shared key' : ''}`;
}

/** Returns what a client must do to get a token for this API. */
export const requestAudience = ({ audience }: Explained['options']) =>
  `the client must request a token for ${audience.join(' or ') || 'your API'} (the parameter resource of RFC 8707, or audience)`;

export const hasOtherType = ({ isIntrospected, header, options }: Explained) =>
  !isIntrospected && !allowsType(options.tokenType, header.typ);

/** Returns what a client sent instead of a token, if it shows. */
function describeSent(text: string): string | undefined {
  if (text === '') return 'nothing was pasted. Paste a token, or pipe one to standard input';
  if (/^(?:(["']).*\1|[<{[]+eyJ.*)$/.test(text)) return 'the client sent the token in quotes or brackets: remove them';
  if (isPlaceholder(text)) return 'the client sent a variable that was not set, or a placeholder, instead of a token';
  if (/\b(?:id|refresh)_token/.test(text))
    return 'an ID token or a refresh token is not for an API: send an access token';
  if (text.startsWith('{')) return 'the JSON has no access_token';
  if (/^bearer /i.test(text)) return 'the client sent the word Bearer twice: remove one';
  // Also in base64.
  if (/^(?:<(?:\?xml|\w+:|Assertion)|PD94|PHNhbW|PEFzc2)/.test(text))
    return 'a SAML assertion is not an access token: request one from the issuer';
  if (text.startsWith('ZXlK')) return 'the token is encoded in base64, as in a Secret of Kubernetes: decode it';
  return /^(?:eyJ|[\w.~+/=-]+$)/.test(text) ? undefined : 'paste one token and no other text';
}

/** Returns what happened to a token on its way, if it shows. */
export function describeChange(explained: Pick<Explained, 'text' | 'header' | 'claims'>): string | undefined {
  const { text, header, claims } = explained;
  const parts = text.split('.');
  if (parts[2] === 'SIGNATURE_REMOVED_BY_GOOGLE')
    return 'Google Cloud Run has replaced the signature. Clients must send the token for Cloud Run in X-Serverless-Authorization: then Authorization arrives as it was sent';
  if (parts.length === 3 && parts.some((part) => part.endsWith('=')))
    return 'a part ends with =, as in x-amzn-oidc-data of an AWS load balancer, which is no JWT. Use the token of the issuer, which it sends in x-amzn-oidc-accesstoken';
  // The longest line that a terminal of Linux and of macOS reads.
  if ([4095, 1023].includes(text.length))
    return 'the terminal cut the token. Pipe it to standard input instead of pasting it';
  if (header.alg === 'none') return 'the token is not signed: configure the issuer to sign it';
  if (header.enc !== undefined && parts.length < 5) return 'the token was cut: an encrypted token has 5 parts';
  const count = parts.filter((part) => part !== '').length;
  if (text.startsWith('eyJ') && count < 3) return `the token was cut: it has ${count} of 3 parts`;
  if (header.alg !== undefined && !['iss', 'aud', 'sub', 'exp'].some((name) => name in claims))
    return 'the token was probably cut or changed: its payload is not JSON, or has no iss, aud, sub or exp';
  const [least, length] = [leastSignatureLength(header.alg), parts[2]?.length ?? 0];
  return length < least
    ? `the token was probably cut: its signature has ${length} characters, and ${header.alg} requires at least ${least}`
    : undefined;
}

/** Returns how many characters a signature has at least: that of the smallest RSA key, or two numbers of a curve. */
function leastSignatureLength(alg: unknown): number {
  const algorithm = algorithmOf(alg);
  if (algorithm === undefined) return 0;
  const { kty, partBytes = 128 } = algorithmRules[algorithm];
  return kty === 'AKP' ? 0 : Math.ceil((partBytes * 2 * 4) / 3);
}
