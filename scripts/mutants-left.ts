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
    what: ['- to +', '< to <='],
    reason: 'Speed: how often expired claims are looked for.',
  },
  {
    file: 'src/auth/dpop.ts',
    original: "return /^[a-z]+:\\/\\/[^/?#]*([^?#]*)/i.exec(url)?.[1] ?? '';",
    what: ["'' to 'mutant'"],
    reason: 'For what should not happen: the address of a request is absolute.',
  },
  {
    file: 'src/auth/dpop.ts',
    original: 'if (claimed === expected) return true;',
    what: ['claimed === expected to false'],
    reason: 'Speed: equal addresses need no normalization.',
  },
  {
    file: 'src/auth/normalize-url.ts',
    original: "const start = isSecure ? 'https://' : 'http://';",
    what: ["'http://' to ''", "'https://' to ''"],
    reason: 'Normalized addresses are only compared with each other, and the two schemes still differ.',
  },
  {
    file: 'src/auth/normalize-url.ts',
    original: 'let isFolder = false;',
    what: ['false to true'],
    reason: 'It keeps this value only without a segment, and then nothing is written that could end with a slash.',
  },
  {
    file: 'src/auth/binding.ts',
    original: "publicUrl = '',",
    what: ["'' to 'mutant'"],
    reason: 'For the compiler: the options require it with DPoP.',
  },
  {
    file: 'src/auth/proof-key.ts',
    original: 'const [first = 0] = bytes;',
    what: ['0 to 1'],
    reason: 'Without any byte the modulus is too short in both cases.',
  },
  {
    file: 'src/auth/replay-store.ts',
    original: 'const sweepIntervalMs = 1000;',
    what: ['1000 to 1001'],
    reason: 'Speed: how often expired claims are looked for.',
  },
  {
    file: 'src/auth/replay-store.ts',
    original:
      "if (expiryMs <= sweptUntilMs) throw new ReplayUnknownError('Cannot claim a proof: the clock was set back');",
    what: ["'Cannot claim a proof: the clock was set back' to ''"],
    reason: 'A message that nothing shows: the request is answered with 503.',
  },
  {
    file: 'src/auth/replay-store.ts',
    original: "throw new ReplayUnknownError('Cannot claim a proof: the memory for used proofs is full');",
    what: ["'Cannot claim a proof: the memory for used proofs  to ''"],
    reason: 'A message that nothing shows: the request is answered with 503.',
  },
  {
    file: 'src/auth/replay-store.ts',
    original: 'sweptAtMs = nowMs;',
    what: ['sweptAtMs = nowMs; to ;'],
    reason: 'Speed: how often expired claims are looked for.',
  },
  {
    file: 'src/auth/credentials.ts',
    original: 'const token = authorization.slice(usual.length + 1);',
    what: ['+ to -'],
    reason: 'Speed: what this misreads has a space, and is read again by the general form.',
  },
  {
    file: 'src/auth/proof-key.ts',
    original: 'return (bytes.at(-1) ?? 0) % 2 === 1;',
    what: ['0 to 1'],
    reason: 'Without an exponent the key cannot be imported, and without a modulus it is too short.',
  },
  {
    file: 'src/auth/credentials.ts',
    original: "if (token !== '' && !token.includes(' ') && !token.includes('\\t')) return { scheme: usual, token };",
    what: ["' ' to ''", "'\\t' to ''", "token !== '' && !token.includes(' ') && !token.inc to false"],
    reason: 'Speed: every header is then read by the general form.',
  },
  {
    file: 'src/auth/resource-server.ts',
    original: 'hasBegun = true;',
    what: ['true to false', 'hasBegun = true; to ;'],
    reason: 'Speed: what begins is then asked to begin at each request, and has begun already.',
  },
  {
    file: 'src/auth/resource-server.ts',
    original: "return refuse(status, request, verdict.refusal, 'retryAfterSeconds' in verdict ? verdict : undefined);",
    what: ["'retryAfterSeconds' in verdict to true"],
    reason: 'Speed: the same headers are then made for each response.',
  },
  {
    file: 'src/auth/key-set-source.ts',
    original: 'if (address !== usual) found = address;',
    what: ['address !== usual to true'],
    reason: 'The usual address is tried next in both cases.',
  },
  {
    file: 'src/auth/jwk-set.ts',
    original: "ES256: { kty: 'EC', crv: 'P-256' },",
    what: ["without crv: 'P-256'"],
    reason: 'A key of another curve cannot be imported for the algorithm.',
  },
  {
    file: 'src/auth/jwk-set.ts',
    original: "ES384: { kty: 'EC', crv: 'P-384' },",
    what: ["without crv: 'P-384'"],
    reason: 'A key of another curve cannot be imported for the algorithm.',
  },
  {
    file: 'src/auth/jwk-set.ts',
    original: "ES512: { kty: 'EC', crv: 'P-521' },",
    what: ["without crv: 'P-521'"],
    reason: 'A key of another curve cannot be imported for the algorithm.',
  },
  {
    file: 'src/auth/jwk-set.ts',
    original: "EdDSA: { kty: 'OKP', crv: 'Ed25519' },",
    what: ["without crv: 'Ed25519'"],
    reason: 'A key of another curve cannot be imported for the algorithm.',
  },
  {
    file: 'src/auth/jwk-set.ts',
    original: '(type.crv === undefined || crv === type.crv) &&',
    what: ['=== to !=='],
    reason: 'A second lock: a key of another curve cannot be imported for the algorithm.',
  },
  {
    file: 'src/auth/options.ts',
    original: "requiredClaims: { kind: 'pairs', expected: 'name=value', isValid: isStringRecord, fallback: {} },",
    what: ['without fallback: {}'],
    reason: 'No claims are required in both cases.',
  },
  {
    file: 'src/auth/resource-server.ts',
    original: "const plugin = new Elysia({ name: 'protected-api', seed: checked })",
    what: ["without name: 'protected-api',", "'protected-api' to ''"],
    reason: 'A name for a reader: the seed alone tells guards apart.',
  },
  {
    file: 'src/auth/resource-server.ts',
    original: 'timeoutMs: options.jwksTimeoutSeconds * 1000,',
    what: ['1000 to 1001'],
    reason: 'A bound: a thousandth longer.',
  },
  {
    file: 'src/auth/resource-server.ts',
    original: 'const refusePresentation = createBindingCheck({ ...checked, replayStore: options.replayStore, now });',
    what: ['without now'],
    reason: 'For tests: none of them needs another time for proofs than that of the process.',
  },
  {
    file: 'src/auth/key-set.ts',
    original: 'nextAttemptMs: Number.isFinite(this.#nextAttemptAt) ? Math.max(0, this.#nextAttemptAt - now) : 0,',
    what: ['0 to 1'],
    reason: 'A bound: a millisecond of what is overdue.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: 'const maxEntrySize = Math.ceil(maxBytes / 512);',
    what: ['512 to 513'],
    reason: 'A bound: a five-hundredth less.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: 'if (isShared && knownShapes.size < maxKnownShapes) knownShapes.add(shape);',
    what: ['< to <='],
    reason: 'A bound: one shape more.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: 'let bytes = Array.isArray(value) ? 208 + 64 * members.length : namesBytes(Object.keys(value));',
    what: ['* to /', '+ to -', '208 to 209', 'Array.isArray(value) to false'],
    reason: 'Held by the tests of the heap, which take too long to be run for each mutant.',
  },
  {
    file: 'src/auth/resource-metadata.ts',
    original: 'return plugin.get(resourceMetadataPath(publicUrl), markOpen(serve), { detail: { hide: true } });',
    what: ['true to false'],
    reason: 'For the documents of other applications: that of the service leaves the route out in any case.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: 'max: Math.max(1, Math.min(maxEntries, Math.floor(maxBytes / smallestBytes))),',
    what: ['floor to ceil', '/ to *'],
    reason: 'A bound: with more entries than bytes allow, only the tables are larger.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: "if (typeof value === 'string') return 40 + 2 * value.length;",
    what: ['40 to 41'],
    reason: 'An estimate that may be too high.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: 'const isFull = cache.size === cache.max || cache.calculatedSize > maxBytes - maxEntrySize;',
    what: ['> to >='],
    reason: 'A bound: one byte.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: 'const smallestBytes = 2 * entryBytes;',
    what: ['* to /'],
    reason: 'Held by the tests of the heap, which take too long to be run for each mutant.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: "if (typeof value !== 'object' || value === null) return 0;",
    what: ['0 to 1'],
    reason: 'An estimate that may be too high.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: 'if (knownShapes.has(shape)) return 64 + 24 * names.length;',
    what: ['+ to -'],
    reason: 'Held by the tests of the heap, which take too long to be run for each mutant.',
  },
  {
    file: 'src/auth/verifier.ts',
    original: "algorithms.map((name) => [name, { algorithms: name === 'EdDSA' ? ['EdDSA', 'Ed25519'] : [name] }]),",
    what: [
      "without { algorithms: name === 'EdDSA' ? ['EdDSA', 'Ed2551",
      "without algorithms: name === 'EdDSA' ? ['EdDSA', 'Ed25519'",
      'without name,',
    ],
    reason: 'A second lock: the algorithm was compared with those accepted and with that of the key.',
  },
  {
    file: 'src/auth/guarded-routes.ts',
    original:
      ": ['parse', 'transform', 'beforeHandle', 'afterHandle'].every((kind) => hooksOf(route, kind).length > 0);",
    what: ["without 'transform',"],
    reason: 'The hook of the guard itself is of this kind.',
  },
  {
    file: 'src/auth/key-set.ts',
    original: 'this.#nextAttemptAt = Number.POSITIVE_INFINITY;',
    what: ['this.#nextAttemptAt = Number.POSITIVE_INFINITY; to ;'],
    reason: 'A further attempt during an attempt is the same attempt.',
  },
  {
    file: 'src/auth/schema.ts',
    original: "return t.Object({ code, description: t.String() }, { title: 'Error' });",
    what: ["without title: 'Error'", "'Error' to ''"],
    reason: 'A name in the documents of other applications: that of the service names it itself.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: 'return 320 + 320 * names.length;',
    what: ['320 to 321'],
    reason: 'An estimate that may be too high.',
  },
  {
    file: 'src/auth/token-cache.ts',
    original: 'const entryBytes = 512;',
    what: ['512 to 513'],
    reason: 'An estimate that may be too high.',
  },
];
