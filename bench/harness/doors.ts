import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { max, median, min } from 'simple-statistics';
import { installLocked } from '../../tests/support/installed-package.ts';
import { newestNode, nodePath } from '../../tests/support/node-versions.ts';
import type { CaseName } from './cases.ts';
import type { Contestant, Context } from './contestants.ts';
import { table } from './machine.ts';
import { type Measurement, runRound } from './measure.ts';

/*
 * The doors of the package beside the library that each framework's users know, on Node.js and on Bun.
 */

const own = 'protected-api';
const peers: Readonly<Record<string, string>> = {
  express: 'express-oauth2-jwt-bearer',
  fastify: '@fastify/jwt, get-jwks',
  hono: 'hono/jwk',
};
const runtimes: Readonly<Record<string, () => string>> = {
  'Node.js 20': () => nodePath('20'),
  [`Node.js ${newestNode}`]: () => nodePath(newestNode),
  Bun: () => process.execPath,
};

const nameOf = (runtime: string, framework: string, library: string) => `${runtime} ${framework} ${library}`;

/** Measures a round of each runtime at a time, in a folder with the packages. */
export async function measureDoors(rounds: number, context: Context): Promise<Measurement[]> {
  const folder = await installLocked('compare');
  const file = join(folder, 'doors.mjs');
  await copyFile(join(import.meta.dir, '../servers/doors.mjs'), file);
  const measurements: Measurement[] = [];
  for (const [runtime, find] of Object.entries(runtimes)) {
    const servers = Object.entries(peers).flatMap(([framework, peer]) =>
      [own, peer].map((library): Contestant => {
        const name = nameOf(runtime, framework, library);
        const command = [find(), file, framework, library];
        return { name, label: name, note: '', cases: ['public', 'one token', 'no header'], command };
      }),
    );
    for (let round = 0; round < rounds; round += 1) {
      console.error(`Doors on ${runtime}: round ${round + 1} of ${rounds}`);
      measurements.push(...(await runRound(round % 2 === 0 ? servers : servers.toReversed(), context)));
    }
  }
  return measurements;
}

/** Returns the part of the page about them. */
export function renderDoors(measurements: readonly Measurement[]): string {
  const cpu = (name: string, caseName: CaseName) =>
    measurements
      .filter((one) => one.contestant === name && one.caseName === caseName)
      .map(({ cpuMicroseconds }) => cpuMicroseconds);
  const range = (values: number[], digits: number) =>
    values.length === 0
      ? '-'
      : `${median(values).toFixed(digits)} (${min(values).toFixed(digits)}–${max(values).toFixed(digits)})`;
  const rows = Object.keys(runtimes).flatMap((runtime) =>
    Object.entries(peers).flatMap(([framework, peer]) =>
      [own, peer].map((library) => {
        const name = nameOf(runtime, framework, library);
        const [accepted, rejected] = [cpu(name, 'one token'), cpu(name, 'no header')];
        const ratios = rejected.map((value, round) => value / (accepted[round] ?? Number.NaN));
        return [
          `${runtime}, ${framework}: ${library}`,
          ...[cpu(name, 'public'), accepted, rejected].map((values) => range(values, 1)),
          range(ratios, 2),
        ];
      }),
    ),
  );
  return `## The doors beside their peers: CPU time per request, in microseconds

A rejection should take at most 1.1 times what an accepted request takes, and less than that of the peer. hono/jwk has its keys in memory, because it fetches a key set for each request. A peer verifies each token; the package remembers them.

${table(['', 'public', 'one token', 'no header', 'no header / one token'], rows)}`;
}
