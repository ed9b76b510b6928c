import fc from 'fast-check';
import { nowSeconds, type ProofRow, proofRows, token } from '../auth/proof/proof-rows.ts';
import { makeProof, proofKey, thumbprintOf } from '../support/proof.ts';
import { anyMember, edited, editsOf, few, merged } from './arbitraries.ts';

const TARGETS = [
  { publicUrl: 'https://api.example.test', path: '/api/private' },
  { publicUrl: 'http://localhost:3010', path: '/api/private-scoped' },
  { publicUrl: 'https://api.example.test/base', path: '/r%C3%A9sum%C3%A9/a:b' },
] as const;

/** Changes to the spelling of htu: some keep the URL equal, some make it a different URL. */
const RESPELLINGS = [
  ...(['/.$&', '/x/..$&', '/x/%2E%2e$&', '/..$&', '/$&', '\\', '/%4'] as const).map((it) => [/\/[^/]*$/, it] as const),
  ...(['/.', '/', '?a=/../b#c', '#/x', 'a', ' ', '/x/..', '/..'] as const).map((more) => [/$/, more] as const),
  ...([':443', ':80', ':', '.'] as const).map((more) => [/(?<=:\/\/[^/]*)(?=\/[^/]|$)/, more] as const),
  [/^https?/, 'HTTPS'],
  [/api/, 'API'],
  [/p/, '%70'],
  [/p/, '%50'],
  [/%C3/, '%c3'],
  [/:b/, '%3ab'],
  [/:\/\//, '://user@'],
  [/.$/, ''],
  [/k|l/, '\u212a'],
] as const;

/**
 * Rows of the table of proofs, each reason as likely as any other, without those that the oracle has no setting for.
 */
const change: fc.Arbitrary<ProofRow> = fc.oneof(
  ...Object.values(proofRows).map((rows) =>
    fc.constantFrom(...rows.filter(([, change]) => !['dpopAlgorithms', 'requested'].some((name) => name in change))),
  ),
);

/** Plans for proofs, readable in a counterexample: some are valid, and the rest have one or several faults. */
export const proofPlans = fc.record({
  algorithm: fc.constantFrom('ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'),
  target: fc.constantFrom(...TARGETS),
  respellings: few(fc.constantFrom(...RESPELLINGS), 3, 5),
  changes: few(change, 3, 4),
  header: few(anyMember(['alg', 'typ', 'jwk', 'kid', 'crit', '__proto__', 'x5c']), 1, 9),
  claims: few(anyMember(['htm', 'htu', 'iat', 'jti', 'ath', 'nonce', 'exp', 'nbf', '__proto__']), 1, 9),
  edits: editsOf(8),
});
type ProofPlan = typeof proofPlans extends fc.Arbitrary<infer Plan> ? Plan : never;

/** Makes the proof of a plan, with a real signature over the result of the plan, and the request that contains it. */
export function buildProof({ target, respellings, changes, edits, ...plan }: ProofPlan) {
  const made = changes.map(([, change]) => change);
  const { method = 'GET', ...overrides }: ProofRow[1] = Object.assign({ algorithm: plan.algorithm }, ...made);
  const { key = proofKey(overrides.algorithm) } = overrides;
  const publicUrl = String(overrides.publicUrl ?? target.publicUrl);
  const { path } = target;
  const url = respellings.reduce<string>((spelt, [from, to]) => spelt.replace(from, to), publicUrl + path);
  const header = merged([...made.map((change) => change.header), ...plan.header]);
  const claims = merged([...made.map((change) => change.claims), ...plan.claims]);
  const proof = makeProof({ url, token, nowSeconds, method }, { ...overrides, key, header, claims });
  const { thumbprint = thumbprintOf(key) } = overrides;
  return { proof: edited(proof, edits), world: { publicUrl, path, method, token, thumbprint, nowSeconds } };
}
