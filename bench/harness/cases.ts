import type { Tokens } from './tokens.ts';

export type CaseName =
  | 'public'
  | 'one valid token'
  | '20,000 valid tokens'
  | 'bad signature'
  | 'unknown kids'
  | 'no header'
  | 'bad header'
  | 'outage';

/** A kind of request, sent as fast as the server answers it. */
export interface Case {
  readonly name: CaseName;
  readonly path: string;
  /** The status of every answer, unless a contestant has another. */
  readonly status: number;
  /** The Authorization header of the one request that is checked before the load. */
  readonly header: (tokens: Tokens) => string | undefined;
  /** What load.lua is told. `sent` counts the requests of this kind so far: a rotation goes on where it was. */
  readonly load: (tokens: Tokens, sent: number) => readonly string[];
}

const publicPath = '/api/public';
const privatePath = '/api/private';
const badHeader = 'Basic dXNlcjpwYXNzd29yZA==';

/** In this order: the outage comes last, since a server may be long in getting over it. */
export const cases: readonly Case[] = [
  {
    name: 'public',
    path: publicPath,
    status: 200,
    header: () => undefined,
    load: () => ['static', publicPath],
  },
  {
    name: 'one valid token',
    path: privatePath,
    status: 200,
    header: ({ validToken }) => `Bearer ${validToken}`,
    load: ({ validToken }) => ['static', privatePath, `Bearer ${validToken}`],
  },
  {
    name: '20,000 valid tokens',
    path: privatePath,
    status: 200,
    header: ({ validToken }) => `Bearer ${validToken}`,
    load: ({ validFile }, sent) => ['rotate', privatePath, validFile, String(sent)],
  },
  {
    name: 'bad signature',
    path: privatePath,
    status: 401,
    header: ({ forgedToken }) => `Bearer ${forgedToken}`,
    load: ({ forgedFile }, sent) => ['rotate', privatePath, forgedFile, String(sent)],
  },
  {
    name: 'unknown kids',
    path: privatePath,
    status: 401,
    header: ({ unknownKidToken }) => `Bearer ${unknownKidToken()}`,
    load: ({ unknownKidsFile }, sent) => ['unknown', privatePath, unknownKidsFile, String(sent)],
  },
  {
    name: 'no header',
    path: privatePath,
    status: 401,
    header: () => undefined,
    load: () => ['static', privatePath],
  },
  {
    name: 'bad header',
    path: privatePath,
    status: 401,
    header: () => badHeader,
    load: () => ['static', privatePath, badHeader],
  },
  {
    // The key set answers 500; every other request has a good token, whose status is what is measured here.
    name: 'outage',
    path: privatePath,
    status: 401,
    header: ({ unknownKidToken }) => `Bearer ${unknownKidToken()}`,
    load: ({ unknownKidsFile, validToken }, sent) => ['mixed', privatePath, unknownKidsFile, String(sent), validToken],
  },
];
