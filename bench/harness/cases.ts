import type { TokenFile, Tokens } from './tokens.ts';

/** A kind of request, sent as fast as the server answers it. */
export interface Case {
  readonly path: string;
  /** The status of every answer, unless a server has another. */
  readonly status: number;
  /** How load.lua chooses the next request. */
  readonly mode: 'static' | 'rotate' | 'unknown' | 'mixed';
  readonly tokens?: TokenFile;
  /** The key set answers with 500. */
  readonly isOutage?: boolean;
}

const path = '/api/private';

/** The outage comes last, because a server may take long to recover from it. */
export const cases = {
  public: { path: '/api/public', status: 200, mode: 'static' },
  'one token': { path, status: 200, mode: 'static', tokens: 'RS256' },
  'one token, scope': { path: '/api/private-scoped', status: 200, mode: 'static', tokens: 'RS256' },
  'no header': { path, status: 401, mode: 'static' },
  'every token new': { path, status: 200, mode: 'rotate', tokens: 'RS256' },
  'bad signature': { path, status: 401, mode: 'rotate', tokens: 'forged' },
  'unknown kid': { path, status: 401, mode: 'unknown', tokens: 'unknown-kids' },
  // Every second request has a valid token.
  outage: { path, status: 401, mode: 'mixed', tokens: 'unknown-kids', isOutage: true },
} as const satisfies Readonly<Record<string, Case>>;

export type CaseName = keyof typeof cases;
export const caseNames = Object.keys(cases) as CaseName[];

/** Returns the token of the one request that is checked before the load. */
export function tokenOf({ mode, tokens: file }: Case, tokens: Tokens): string | undefined {
  if (file === undefined) return undefined;
  return mode === 'unknown' || mode === 'mixed' ? tokens.unknownKid() : tokens.first(file);
}

/** Returns the arguments of load.lua. `sent` requests of this kind were sent before: a rotation continues from there. */
export function loadOf({ mode, path, tokens: file }: Case, tokens: Tokens, sent: number): string[] {
  if (file === undefined) return [mode, path];
  if (mode === 'static') return [mode, path, `Bearer ${tokens.first(file)}`];
  return [mode, path, tokens.file(file), String(sent), tokens.first('RS256')];
}
