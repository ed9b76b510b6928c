/** Changes to one line that no test notices, and why that is right. */
export interface MutantLeft {
  readonly file: string;
  /** The line before the change. */
  readonly original: string;
  /** What was done to it. */
  readonly what: readonly string[];
  readonly reason: string;
}

/** Every mutant that may survive `bun run mutate`; any other fails it. */
export const mutantsLeft: readonly MutantLeft[] = [
  {
    file: 'src/auth/refusal.ts',
    original: 'return (scope === undefined && ready.get(reason)) || challenge(refusals[reason], scope);',
    what: ['undefined to null'],
    reason: 'Speed: the same headers, made for each refusal instead of once.',
  },
  {
    file: 'src/auth/jwk-set.ts',
    original: 'await response.body?.cancel();',
    what: ['await to nothing'],
    reason: 'Nobody depends on the end of a body that is not read.',
  },
  {
    file: 'src/auth/jwk-set.ts',
    original: "return typeof value === 'string' && value !== '';",
    what: ["'' to 'mutant'"],
    reason:
      'Empty members fail later as well: no token may name the key "", and no key can be made of an empty n or e.',
  },
  {
    file: 'src/auth/jwk-set.ts',
    original: 'const key = held.get(jwk.kid)?.find((known) => isSameKey(known.jwk, jwk)) ?? (await importKey(jwk));',
    what: ['.find( to .findLast('],
    reason: 'Keys that are the same verify the same.',
  },
  {
    file: 'src/auth/jwk-set.ts',
    original:
      'return cryptoKey instanceof Uint8Array ? undefined : { jwk: { kid, n, e }, cryptoKey, isCurrent: true };',
    what: ['? to && false ?'],
    reason: 'For the compiler: what jose imports from an RSA key is never bytes.',
  },
  {
    file: 'src/auth/verifier.ts',
    original: 'const remembered = cacheSize > 0 ? new LRUCache<string, Remembered>({ max: cacheSize }) : undefined;',
    what: ['undefined to null'],
    reason: 'Either is nothing.',
  },
  {
    file: 'src/auth/verifier.ts',
    original: 'const oldest = remembered?.size === cacheSize ? remembered.rvalues().next().value : undefined;',
    what: ['undefined to null'],
    reason: 'Either is nothing.',
  },
  {
    file: 'src/auth/verifier.ts',
    original: "algorithms: ['RS256'],",
    what: ["without algorithms: ['RS256'],"],
    reason: 'A second lock: the header was inspected, and the key is one for RS256.',
  },
  {
    file: 'src/auth/verifier.ts',
    original: "const parts = token.split('.', 4);",
    what: ['4 to 5'],
    reason: 'A bound on work: four parts are too many already.',
  },
  {
    file: 'src/auth/verifier.ts',
    original: "const header = parseJsonObject(parts[0] ?? '');",
    what: ["'' to 'mutant'"],
    reason: 'For the compiler: there are three parts.',
  },
  {
    file: 'src/auth/resource-server.ts',
    original: "if (authorization?.startsWith('Bearer ')) {",
    what: ['.startsWith( to .endsWith('],
    reason: 'Speed: the general form below reads the usual one as well.',
  },
  {
    file: 'src/auth/resource-server.ts',
    original: "const token = authorization.slice('Bearer '.length);",
    what: ["'Bearer ' to ''"],
    reason: 'Speed: what then has a space is left to the general form.',
  },
  {
    file: 'src/auth/resource-server.ts',
    original: "if (!token.includes(' ') && !token.includes('\\t')) return token;",
    what: ['condition to (false)', "' ' to ''", "'\\t' to ''"],
    reason: 'Speed: the general form below reads the usual one as well.',
  },
  {
    file: 'src/app.ts',
    original: 'set.status = 200;',
    what: ['200 to 201', '200 to 0'],
    reason: 'Speed: an answer would be copied.',
  },
  {
    file: 'src/app.ts',
    original: 'routeOf ??= createRouteTable(app.routes);',
    what: ['??= to ='],
    reason: 'Speed: the table would be made for each unknown path.',
  },
  {
    file: 'src/app.ts',
    original: 'if (error instanceof ElysiaCustomStatusResponse) return undefined;',
    what: ['undefined to null'],
    reason: 'Either leaves the answer to Elysia.',
  },
  {
    file: 'src/app.ts',
    original: 'if (extension) app.use(extension);',
    what: ['condition to (true)'],
    reason: 'Elysia passes over a plugin that is undefined.',
  },
  {
    file: 'src/app.ts',
    original: 'response.isOurs = true;',
    what: ['without response.isOurs = true;'],
    reason: 'Speed: the answer would be copied.',
  },
  {
    file: 'src/app.ts',
    original: "return value instanceof Response && 'isOurs' in value;",
    what: ["'isOurs' to ''"],
    reason: 'Speed: the answer would be copied.',
  },
];
