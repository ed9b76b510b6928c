import { expect, test } from 'bun:test';
import { readText } from '../support/repository.ts';

const [page, results] = await Promise.all(['docs/deploy.md', 'bench/results.md'].map(readText));
const cellsOf = (line = '') => line.split('|').map((cell) => cell.trim());
const [, names, , ...servers] = (/^## CPU time per request.*?(?=^## )/ms.exec(results ?? '')?.[0] ?? '')
  .split(/\n+/)
  .map(cellsOf);
const measured = servers.find(([, server]) => server === 'this service');

test.each([
  ['To the public route', 'public'],
  ['With a cached token', 'one token'],
  ['With an invalid signature, or a token that is not cached', 'bad signature'],
  ['With an unknown `kid`', 'unknown kid'],
  ['Without a token, to a protected route', 'no header'],
])('docs/deploy.md has within a tenth the rate that bench/results.md has: %s', (label, name) => {
  const [, , rate] =
    page
      ?.split('\n')
      .map(cellsOf)
      .find((cells) => cells[1] === label) ?? [];
  const microseconds = Number.parseFloat(measured?.[names?.indexOf(name) ?? 0] ?? '');
  const ratio = (Number(rate?.replace(',', '')) * microseconds) / 1_000_000;
  expect(ratio).toBeWithin(0.9, 1.1);
});
