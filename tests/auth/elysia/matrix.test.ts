import { test } from 'bun:test';
import { isNight } from '../../support/node-versions.ts';
import { cellsWith, pairsOf, sampleCells } from './matrix/cells.ts';
import { clients, expectNoFaults, expectSpread } from './matrix/report.ts';
import { runCells } from './matrix/run.ts';

/** Nightly runs use another seed, more cells, and every combination of the tables instead of every pair. */
const seed = Number(process.env.MATRIX_SEED ?? 20);
const count = Number(process.env.MATRIX_CELLS ?? 60);

const configuration = ['default', 'aot: false'];
const form = ['fetch', 'listen'];
const place = ['before', 'plugin after'];
/** No guard reaches its route. */
const application = ['route of the parent of a guarded instance'];
const arrival = { configuration, application: 'all' } as const;
const requirements = { configuration, requirement: 'all', named: 'all', beside: 'all' } as const;

/** What one part of an application can do alone. */
const tables = {
  'any requirement': cellsWith(requirements),
  'any route': cellsWith({ configuration, form, route: 'all', requirement: ['none', 'scope'] }),
  'a requirement, no guard': cellsWith({ ...requirements, application }),
  'any route, no guard': cellsWith({ configuration, application, route: 'all', requirement: ['scope', 'authorize'] }),
  'a guard that arrives in any way': cellsWith({ ...arrival, form, requirement: ['none', 'authorize'] }),
  'a guard that comes late, for any route': cellsWith({
    configuration,
    application: ['promise', 'imported module', 'async function that returns the guard', 'promise in a guard callback'],
    route: 'all',
  }),
  'any hostile hook': cellsWith({ hook: 'all', effect: 'all', requirement: ['authorize'], place }),
  'a hostile hook without ahead-of-time compilation': cellsWith({
    configuration: ['aot: false'],
    hook: 'all',
    requirement: ['scope'],
    effect: ['sets claims', 'sets status', 'returns a string'],
    place: 'all',
  }),
};

for (const [name, cells] of Object.entries(tables))
  test(`an application with ${name} serves no request without a decision of its guard`, async () => {
    expectNoFaults(await runCells(clients(), isNight ? cells : pairsOf(cells)));
  }, 3_600_000);

test('an application of any composition serves no request without a decision of its guard', async () => {
  const report = await runCells(clients(), sampleCells(count, seed));
  expectNoFaults(report, seed);
  expectSpread(report, count);
}, 3_600_000);
