import { afterAll, beforeAll, expect, setSystemTime, test } from 'bun:test';
import { bases, blindServers } from './faults/blind-servers.ts';
import { otherServers } from './faults/other-servers.ts';
import { tried } from './faults/run.ts';

// What the probe notices of faults as they stand in code, each in a server that is right otherwise. All rows are run,
// as a user runs them. The blind list was written before the rows were read.

/** What the standards allow after all: the last of two members (RFC 7519 §4), and an unknown b64 (RFC 7515 §4). */
const allowed = ['takes the last of two members with one name in the claims', 'accepts b64 false without crit'];
/** Keys need patience, for which no time passes here, and proofs a URL that is their own. */
const trials = {
  right: {},
  own: { patient: true },
  proofs: { skip: ['error-huge'], isWithin: true },
};
type Base = keyof typeof trials;
const noticedIn = async (base: Base, server: (typeof bases)[Base]) => (await tried(server, trials[base])).noticed;

/** What is noticed of a server without the fault is not the fault. */
const usual = new Map<string, readonly string[]>();
beforeAll(async () => {
  for (const base of ['right', 'own', 'proofs'] as const) usual.set(base, await noticedIn(base, bases[base]));
}, 600_000);
afterAll(() => void setSystemTime());

test('the probe notices nothing in the right server', () => expect(usual.get('right')).toEqual([]));

const only = process.env.FAULT ?? '';
test.each([
  ['a blind list', blindServers],
  ['other faults', otherServers],
])(
  'the probe notices each of %s',
  async (_, servers) => {
    const missed: string[] = [];
    for (const [name, [base, server]] of Object.entries(servers).filter(([each]) => each.includes(only))) {
      const found = (await noticedIn(base, server)).filter((id) => !usual.get(base)?.includes(id));
      if (process.env.SHOW_FAULTS) console.log(`${name}: ${found.join(', ')}`);
      if (found.length === 0 && !allowed.includes(name)) missed.push(name);
    }
    expect(missed).toEqual([]);
  },
  3_600_000,
);
