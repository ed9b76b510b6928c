import { afterAll, expect, spyOn, test } from 'bun:test';
import { isNight } from '../support/node-versions.ts';
import { readText } from '../support/repository.ts';
import { fleetRow } from './load.ts';
import { simulateProofs } from './proofs.ts';
import { simulate } from './simulation.ts';

const warn = spyOn(console, 'warn').mockImplementation(() => {});
afterAll(() => void warn.mockRestore());

/**
 * New seeds at night. By day, those that notice keys beyond their bound. Each repeats its run: `FLEET_SEED=7 bun test
 * tests/fleet`.
 */
const first = Number(process.env.FLEET_SEED ?? 13);
const start = isNight && process.env.FLEET_SEED === undefined ? Math.floor(Math.random() * 1e9) : first;
const seeds = Array.from({ length: isNight ? 2000 : 2 }, (_, index) => start + index);

test.each(seeds)('a fleet in virtual time breaks no rule: seed %i', async (seed) => {
  const { broken, outcomes } = await simulate(seed);
  expect(broken).toEqual([]);
  expect(Object.keys(outcomes).length).toBeGreaterThan(1);
});

test.each(seeds)('used and old proofs in a fleet in virtual time break no rule: seed %i', async (seed) => {
  const { broken, outcomes } = await simulateProofs(seed);
  expect(broken).toEqual([]);
  expect(outcomes.accepted).toBeGreaterThan(20);
});

test.each(isNight ? [100, 1000] : [100])(
  'deploy/internals.md says what an issuer gets from %i instances',
  async (count) => {
    const [instances, ...loads] = (await fleetRow(count)).map((value) => value.toLocaleString('en'));
    const [recovered, withdrawn] = loads.splice(5);
    const page = await readText('deploy/internals.md');
    const rows = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    const head = rows.findIndex((cells) => cells.includes(`${instances} instances`));
    const column = rows[head]?.indexOf(`${instances} instances`) ?? -1;
    expect(rows.slice(head + 2, head + 7).map((cells) => cells[column])).toEqual(loads);
    expect(page).toMatch(RegExp(`[Oo]f ${instances} instances, [^.]* ${recovered} [^.]*(?<!\\d)${withdrawn} seconds`));
  },
  120_000,
);
