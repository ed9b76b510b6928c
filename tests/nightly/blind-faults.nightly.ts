import { afterAll, expect, setSystemTime, test } from 'bun:test';
import type { Planted } from '../probe/servers/server.ts';
import { type BlindFault, blindFaults } from './faults/blind-list.ts';
import { bases, blindServers } from './faults/blind-servers.ts';
import { tried } from './faults/run.ts';

// What the probe notices of a list of faults that was written before its rows were read.

afterAll(() => void setSystemTime());

/** What the standards allow after all: the last of two members (RFC 7519 §4), and an unknown b64 (RFC 7515 §4). */
const allowed: readonly BlindFault[] = [
  'takes the last of two members with one name in the claims',
  'accepts b64 false without crit',
];
const only = process.env.FAULT;
const chosen = blindFaults.filter((name) => only === undefined || name.includes(only));
/** Keys need patience, for which no time passes here, and proofs a URL that is their own. */
const trials = {
  right: {},
  own: { patient: true },
  proofs: { skip: ['error-huge'], isWithin: true },
};
const noticedIn = async (base: keyof typeof trials, server: Planted) => (await tried(server, trials[base])).noticed;

test(`the probe notices the faults of a blind list of ${blindFaults.length}`, async () => {
  const usual = new Map<string, readonly string[]>();
  for (const [name, server] of Object.entries(bases))
    usual.set(name, await noticedIn(name as keyof typeof bases, server));
  if (process.env.SHOW_FAULTS) for (const [name, ids] of usual) console.log(`(${name}): ${ids.join(', ')}`);
  const missed: BlindFault[] = [];
  for (const name of chosen) {
    const [base, server] = blindServers[name];
    const found = (await noticedIn(base, server)).filter((id) => !usual.get(base)?.includes(id));
    if (process.env.SHOW_FAULTS) console.log(`${found.length > 0 ? '' : 'MISSED '}${name}: ${found.join(', ')}`);
    if (found.length === 0 && !allowed.includes(name)) missed.push(name);
  }
  expect(missed).toEqual([]);
}, 3_600_000);
