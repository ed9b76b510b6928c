import { join } from 'node:path';
import type { Environment } from '../../tests/support/child-process.ts';
import type { Responses } from '../servers/environment.ts';
import { haproxyConfiguration } from '../servers/haproxy.ts';
import type { CaseName } from './cases.ts';
import type { Tokens } from './tokens.ts';

export interface Contestant {
  readonly name: string;
  readonly label: string;
  /** What it checks and how it gets its keys, where that is not what the others do. */
  readonly note: string;
  readonly cases: readonly CaseName[];
  readonly command: readonly string[];
  /** More settings of this project's own service. */
  readonly settings?: Environment;
  readonly files?: (port: number, publicKeyFile: string, responses: Responses) => Readonly<Record<string, string>>;
}

export interface Context {
  readonly tokens: Tokens;
  readonly jwksUri: string;
  /** What the service responds with, for servers that send the same. */
  readonly responses?: Responses;
}

const serverFile = (name: string) => join(import.meta.dir, '../servers', name);
const serviceIn = (folder: string) => ['bun', 'run', join(folder, 'src/index.ts')];

const service = {
  cases: ['public', 'one token', 'no header', 'bad signature', 'unknown kid'],
  command: serviceIn(join(import.meta.dir, '../..')),
} as const;

const byHand = {
  command: ['bun', serverFile('by-hand.ts')],
  note: "Elysia, @elysiajs/cors and jose's createRemoteJWKSet and jwtVerify in 30 lines; checks signature, alg, iss, aud and exp.",
} as const;

export const ours: Contestant = {
  ...service,
  name: 'ours',
  label: 'this service',
  note: 'All checks. Keys fetched and refreshed in the background; cache of 10,000 tokens.',
};

export const contestants: readonly Contestant[] = [
  {
    name: 'equal',
    label: 'equal Bun.serve',
    note: 'Reads the request headers that this service reads, and sends the same status, headers and body. Checks nothing.',
    cases: ['public', 'one token', 'no header'],
    command: ['bun', serverFile('equal.ts')],
  },
  ours,
  {
    ...service,
    name: 'twin',
    label: 'this service, twin',
    note: 'A second process of the service: shows how far two identical servers differ.',
  },
  {
    ...service,
    name: 'metrics',
    label: 'this service, METRICS_PORT',
    note: 'With metrics, as in production.',
    cases: ['public', 'one token'],
    settings: { METRICS_PORT: '0' },
  },
  {
    ...service,
    name: 'cold',
    label: 'this service, no cache',
    note: 'TOKEN_CACHE_SIZE=0: every token is verified, as if each were new.',
    cases: ['every token new'],
    settings: { TOKEN_CACHE_SIZE: '0' },
  },
  {
    ...byHand,
    name: 'by-hand',
    label: 'by hand',
    note: `${byHand.note} Every token is verified.`,
    cases: ['public', 'no header', 'every token new', 'bad signature'],
  },
  {
    ...byHand,
    name: 'by-hand-map',
    label: 'by hand, with a Map',
    note: `${byHand.note} Remembers each verified token, without a bound.`,
    cases: ['one token'],
    settings: { HAS_MAP: 'true' },
  },
  {
    name: 'haproxy',
    label: 'HAProxy jwt_verify',
    note: 'A public key from a file, whatever the kid; checks alg, signature, iss, exp and the first audience. One thread.',
    cases: ['public', 'one token', 'no header', 'every token new', 'bad signature'],
    command: ['haproxy', '-db', '-f', 'haproxy.cfg'],
    files: (...args) => ({ 'haproxy.cfg': haproxyConfiguration(...args) }),
  },
];

/** The service of another checkout of this project, such as an earlier revision. */
export const serviceOf = (folder: string): Contestant => ({
  ...service,
  name: 'other',
  label: 'the service of another checkout',
  note: 'Another checkout of this project.',
  command: serviceIn(folder),
});
