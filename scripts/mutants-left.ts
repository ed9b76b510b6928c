/** Every change that no test may notice, and why that is right; any other survivor fails `bun run mutate`. */
export const mutantsLeft: readonly {
  readonly file: string;
  /** The line before the change. */
  readonly original: string;
  /** What was done to it. */
  readonly what: readonly string[];
  readonly reason: string;
}[] = [
  {
    file: 'src/auth/token.ts',
    original: "const parts = token.split('.', 6);",
    what: ['6 to 7'],
    reason: 'A bound on work: six parts are too many already.',
  },
  {
    file: 'src/auth/token.ts',
    original: "return parseJsonObject(base64url.decode(token.split('.', 2)[1] ?? ''))?.iss;",
    what: ['2 to 3', "'' to 'mutant'"],
    reason: 'A bound on work, and a value for the compiler: there are three parts.',
  },
  {
    file: 'src/auth/token.ts',
    original: "const header = parseJsonObject(base64url.decode(parts[0] ?? ''));",
    what: ["'' to 'mutant'"],
    reason: 'For the compiler: there are three parts.',
  },
  {
    file: 'src/auth/dpop.ts',
    original: "if (error instanceof errors.JWSSignatureVerificationFailed) return 'proof_signature';",
    what: ['error instanceof errors.JWSSignatureVerificationFa to true'],
    reason: 'For what should not happen: with a key that fits and a proof that was parsed, jose has no other error.',
  },
  {
    file: 'src/auth/dpop.ts',
    original: 'throw error;',
    what: ['throw error; to ;'],
    reason: 'For what should not happen, as above.',
  },
  {
    file: 'src/auth/proof-key.ts',
    original: "RS256: { kty: 'RSA', crv: '', bytes: 512 },",
    what: ["'' to 'mutant'"],
    reason: 'RSA keys have no curve, and none is compared.',
  },
  {
    file: 'src/auth/proof-key.ts',
    original: "PS256: { kty: 'RSA', crv: '', bytes: 512 },",
    what: ["'' to 'mutant'"],
    reason: 'RSA keys have no curve, and none is compared.',
  },
  {
    file: 'src/auth/replay-store.ts',
    original: 'if (Math.abs(nowMs - sweptAtMs) < sweepIntervalMs) return;',
    what: ['- to +'],
    reason: 'Speed: expired claims are looked for at every claim instead of once a second.',
  },
  {
    file: 'src/auth/dpop.ts',
    original: "return /^[a-z]+:\\/\\/[^/?#]*([^?#]*)/i.exec(url)?.[1] ?? '';",
    what: ["'' to 'mutant'"],
    reason: 'For what should not happen: the address of a request is absolute.',
  },
];
