import type { TokenFile } from './tokens.ts';

export interface Case {
  readonly path: string;
  /** The status of the response to the first token of the file. */
  readonly status: number;
  /** Sent in rotation, where requests have a token. */
  readonly tokens?: TokenFile;
}

const path = '/api/private';

export const cases = {
  public: { path: '/api/public', status: 200 },
  'one token': { path, status: 200, tokens: 'one' },
  'no header': { path, status: 401 },
  'every token new': { path, status: 200, tokens: 'many' },
  'bad signature': { path, status: 401, tokens: 'forged' },
  'unknown kid': { path, status: 401, tokens: 'unknown-kids' },
} as const satisfies Readonly<Record<string, Case>>;

export type CaseName = keyof typeof cases;
export const caseNames = Object.keys(cases) as CaseName[];
