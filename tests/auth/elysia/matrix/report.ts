import { expect } from 'bun:test';
import { offline, tokenOf } from '../../../support/checked.ts';
import { rsaKey } from '../../../support/keys.ts';
import { EASY, SCOPE } from './requirements.ts';
import type { Clients, runCells } from './run.ts';

export type Report = Awaited<ReturnType<typeof runCells>>;

/** Every night, the cells take longer than a token of the other tests is valid. */
const exp = 4_000_000_000;

export const clients = (): Clients => ({
  options: offline(),
  valid: tokenOf({ claims: { exp, scope: `${SCOPE} ${EASY}` } }),
  unscoped: tokenOf({ claims: { exp, scope: EASY } }),
  forged: tokenOf({ claims: { exp }, key: rsaKey('another key') }),
});

/** The seed is part of the comparison, so a failure can be repeated with MATRIX_SEED. */
export function expectNoFaults({ faulty }: Report, seed?: number): void {
  expect({ seed, faults: faulty.length, faulty: faulty.slice(0, 10) }).toEqual({ seed, faults: 0, faulty: [] });
}

/** Of the cells that exist on this runtime, where some cannot listen, many are served and some are not. */
export function expectSpread({ outcomes }: Report, count: number): void {
  const possible = count - outcomes.impossible;
  expect(possible).toBeGreaterThan(count / 2);
  expect(outcomes.served).toBeGreaterThan(possible / 3);
  expect(outcomes.closed).toBeGreaterThan(possible / 20);
}
