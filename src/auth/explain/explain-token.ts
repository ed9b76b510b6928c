import { isAccepted as wasAccepted } from '../guard/decision.ts';
import { checkOptions } from '../options/check-options.ts';
import { settingOf } from '../options/setting.ts';
import { isProof } from '../proof/check-proof.ts';
import { Rejected, rejections } from '../rejections.ts';
import type { CheckedOptions, GuardOptions, RejectionReason, Requirements } from '../types.ts';
import { isText, type Members } from '../values/json.ts';
import { describeChecks } from './checks/checks.ts';
import { adviceFor, type Check, doubtKind, type Explained } from './checks/explained.ts';
import { isBoundBy } from './checks/requirement-checks.ts';
import { decideOn } from './observed.ts';
import { decodePasted, findProof, membersOf, requestWith, thumbprintOf, withHeaderLines } from './pasted.ts';
import { type Explanation, type Unverified, withRender, withVerdicts } from './render.ts';
import { namePage, whyNoSetting } from './unchecked/issuer-pages.ts';
import { type Advised, describeOutcome } from './unchecked/outcome.ts';
import { explainUnchecked } from './unchecked/unchecked.ts';

/** How a token is explained. */
export interface ExplainOptions {
  /** What the application requires besides a valid token. Defaults to nothing. */
  readonly requirements?: Requirements | undefined;
  /** Whether options are named as in code or as in the environment. Defaults to options. */
  readonly words?: 'settings' | 'options' | undefined;
}

/** The options of a guard that is to be set up: without the two that are required. */
type UnfinishedOptions = Omit<GuardOptions, 'issuer' | 'audience'> & {
  readonly issuer?: undefined;
  readonly audience?: undefined;
};

/**
 * Explains how a guard with these options decides about a token. The verdict comes from such a guard, which checks a
 * request with the token; the checks only describe the token. Fetches keys, calls `issuer` if that is a function, and
 * `introspect` for a token that is not a JWT. Does NOT call other functions of the application, such as `isRevoked`,
 * and does NOT check a certificate. A proof is checked as of now, and not marked as used. Without `issuer` and
 * `audience`, only what no issuer and audience can change is checked. What the token says is listed, with the options
 * that would accept it.
 * @param text the token itself, an Authorization header, the JSON response of a token endpoint, or a text that has one
 * of them, such as a curl command; with a proof, both header lines, or a curl command with both
 * @throws {TypeError} an option or a requirement is not valid
 */
export async function explainToken(
  text: string,
  given: GuardOptions | UnfinishedOptions,
  { requirements = {}, words = 'options' }: ExplainOptions = {},
): Promise<Explanation> {
  const plain = withHeaderLines(text.replace(noise, ''));
  const { proof, token: pasted } = findProof(plain) ?? { token: plain };
  const decoded = decodePasted(pasted);
  if (isProof(decoded.header) || (proof && decoded.text === '')) return explainProofAlone();
  const nameOf = (option: string) => (words === 'options' ? option : settingOf(option));
  if (given.issuer === undefined && given.audience === undefined) return explainUnchecked(decoded, given, nameOf);
  const checked = checkOptions(given as GuardOptions);
  const scheme = decoded.otherScheme ?? schemeFor(checked, decoded.claims);
  const request = requestWith(decoded.text, scheme, proof, checked);
  const decided = await decideOn(checked, decoded, request, requirements, proof);
  const { result, rejected, unverified, isAccepted, seen, ...about } = decided;
  const explained: Explained = {
    ...{ ...decoded, ...about, requirements, nameOf, nowSeconds: Date.now() / 1000 },
    rejected: unverified instanceof Rejected ? unverified : rejected,
    isIntrospected: seen.introspected !== undefined,
    lookup: seen.lookup?.said,
    proof: proof && { pasted: proof, thumbprint: await thumbprintOf(proof), later: seen.rejections[1] },
  };
  const checks = describeChecks(explained);
  const common = { isAccepted, checks: withVerdicts(checks, rejected, unverified), suggestion: undefined };
  if (wasAccepted(result) || !rejected) {
    const doubt = doubtKind(explained.claims);
    const grants = !wasAccepted(result) || result.scopes.length > 0;
    // A number of seconds has so many digits only after the year 5000.
    const isEndless = Number(explained.claims.exp) > 1e11;
    const said = [
      ...['Token is accepted', ...(doubt ? [doubt] : []), ...(grants ? [] : ['It grants no scope'])],
      ...(isEndless ? ['It never expires: the issuer must write exp in seconds, not in milliseconds'] : []),
    ];
    return withRender({ ...common, status: 200, error: undefined, advice: said.join('. ') + decoded.aside });
  }
  const { reason } = rejected;
  const advice = await adviseRejected(reason, checks, { given: given as GuardOptions, explained, scheme });
  const elsewhere = isAccepted ? '. Routes that require only a token return 200' : adviseUnverified(checks, unverified);
  const error = errorIn(result.body) ?? rejections[reason].error;
  return withRender({ ...common, status: result.status, error, advice: advice + elsewhere + decoded.aside });
}

/** Colours of a terminal (ECMA-48 §5.4), and what is left of UTF-16, in which Windows PowerShell writes files. */
const noise = new RegExp(`^\\ufffd+|[\\0\\ufeff]|${String.fromCharCode(0x1b)}\\[[\\d;]*[A-Za-z~]`, 'g');

/** Returns what to change for a reason, and what follows from that. */
async function adviseRejected(reason: RejectionReason, checks: readonly Check[], advised: Advised): Promise<string> {
  const { header, claims, isIntrospected } = advised.explained;
  const doubt = doubtKind(claims);
  const hopeless = whyNoSetting(header, claims);
  const { text, change } = adviceFor(checks, reason);
  const outcome = isIntrospected || hopeless ? '' : await describeOutcome(change, advised);
  const isOtherKind = doubt !== '' && reason === 'audience_mismatch';
  const doubted = doubt === '' || isOtherKind ? '' : `. ${doubt}`;
  return (hopeless ?? (isOtherKind ? doubt : text)) + outcome + doubted + namePage(reason, claims.iss);
}

/** Returns a sentence on the check that would reject the claims. That of the issuer is the advice already. */
function adviseUnverified(checks: readonly Check[], outcome: Unverified | undefined): string {
  if (!(outcome instanceof Rejected) || outcome.reason === 'issuer_mismatch') return '';
  const name = checks.find(({ advice }) => outcome.reason in advice)?.name;
  return `. Not verified: the ${name} would be rejected: ${adviceFor(checks, outcome.reason).text}`;
}

/** A proof is a JWT too, but no setting makes it a token. */
const explainProofAlone = () =>
  withRender({
    checks: [{ name: 'format', has: 'a DPoP proof', verdict: 'rejected', words: 'rejected: a proof is not a token' }],
    ...{ isAccepted: false, status: 401, error: 'invalid_token', suggestion: undefined },
    advice: 'this is a proof: paste the token, or both header lines, Authorization and DPoP',
  });

/** Returns what a body names as its error. With `formatRejection`, a body can be anything. */
function errorIn(body: string): string | undefined {
  const { error, code } = membersOf(() => JSON.parse(body));
  return [error, code].find(isText);
}

/** A bound token is sent with a proof, unless it is bound to a certificate only. */
function schemeFor({ dpop }: CheckedOptions, claims: Members): 'DPoP' | 'Bearer' {
  const needsProof = claims.cnf !== undefined && (isBoundBy('jkt', claims) || !isBoundBy('x5t#S256', claims));
  return dpop === 'required' || (dpop === 'on' && needsProof) ? 'DPoP' : 'Bearer';
}
