import type { TokenFile, Tokens } from './tokens.ts';

/** A kind of request, sent as fast as the server answers it. */
export interface Case {
  readonly name: string;
  readonly path: string;
  /** The status of every answer, unless a server has another. */
  readonly status: number;
  /** How load.lua chooses the next request. */
  readonly mode: 'static' | 'rotate' | 'unknown' | 'mixed';
  readonly tokens?: TokenFile;
  /** Defaults to a second. */
  readonly warmupSeconds?: number;
  /** The key set answers with 500. Cases of an outage are measured together, without warming up. */
  readonly isOutage?: boolean;
}

const path = '/api/private';

/** The outage comes last, because a server may take long to recover from it. */
export const cases = [
  { name: 'public', path: '/api/public', status: 200, mode: 'static' },
  { name: 'one token', path, status: 200, mode: 'static', tokens: 'RS256' },
  // Long enough for each token to have come once: until then no cache can help.
  { name: '20,000 tokens', path, status: 200, mode: 'rotate', tokens: 'RS256', warmupSeconds: 3 },
  { name: '5,000 ES256', path, status: 200, mode: 'rotate', tokens: 'ES256' },
  { name: '5,000 EdDSA', path, status: 200, mode: 'rotate', tokens: 'EdDSA' },
  { name: 'bad signature', path, status: 401, mode: 'rotate', tokens: 'forged' },
  { name: 'unknown kid', path, status: 401, mode: 'unknown', tokens: 'unknown-kids' },
  { name: 'no header', path, status: 401, mode: 'static' },
  // Every second request has a valid token, in the first; every request has one in the second.
  { name: 'outage', path, status: 401, mode: 'mixed', tokens: 'unknown-kids', isOutage: true },
  { name: 'outage, valid only', path, status: 200, mode: 'static', tokens: 'RS256', isOutage: true },
] as const satisfies readonly Case[];

/** Cases that are measured together: one each, but those of an outage. */
export const groups = Object.values(Object.groupBy(cases, (one) => ('isOutage' in one ? 'outage' : one.name)));

export type CaseName = (typeof cases)[number]['name'];

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
