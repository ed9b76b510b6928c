import { expect, test } from 'bun:test';
import { createTime, systemClock } from '../../../src/auth/values/clock.ts';

/** What both clocks say, one reading after another, and how much time has passed since the first and how often. */
test.each<[name: string, readings: (readonly [monotonic: number, wall: number])[], passedMs: number, setBacks: number]>(
  [
    ['goes on evenly', [[600, 600]], 600, 0],
    ['includes a suspension, in which only the wall clock goes on', [[10, 86_400_010]], 86_400_010, 0],
    [
      'includes several suspensions',
      [
        [0, 1000],
        [10, 1010],
        [10, 5010],
        [20, 5020],
      ],
      5020,
      0,
    ],
    ['does not go back with a wall clock that was set back, and says so', [[10, -3_600_000]], 10, 1],
    [
      'includes a suspension after the wall clock was set back',
      [
        [10, -3_600_000],
        [20, -3_000_000],
      ],
      600_010,
      1,
    ],
    [
      'counts each time that the wall clock was set back',
      [
        [0, -2000],
        [0, -4000],
      ],
      0,
      2,
    ],
    [
      'does not take a synchronized clock for one that was set back',
      [
        [1000, 1],
        [2000, 1500],
        [3000, 2001],
      ],
      3000,
      0,
    ],
    [
      'is not faster for coarse readings',
      Array.from({ length: 1000 }, (_, at) => [at / 10, Math.floor(at / 10)] as const),
      99.9,
      0,
    ],
  ],
)('the time %s', (_, readings, passedMs, setBacks) => {
  let [monotonic, wall] = [0, 0];
  const time = createTime(
    () => monotonic,
    () => 1.9e12 + wall,
  );
  const first = time.now();
  let last = first;
  for (const reading of readings) {
    [monotonic, wall] = reading;
    expect(time.now()).toBeGreaterThanOrEqual(last);
    last = time.now();
  }
  expect(last - first).toBeCloseTo(passedMs, 3);
  expect(time.setBacks).toBe(setBacks);
});

test('the clock of the process reads both clocks at each call, because fake timers replace them', () => {
  const { now } = Date;
  const before = systemClock.now();
  const { setBacks } = systemClock;
  try {
    Date.now = () => now() + 3_600_000;
    expect(systemClock.now() - before).toBeGreaterThan(3_590_000);
  } finally {
    Date.now = now;
  }
  const after = systemClock.now();
  expect(after - before).toBeGreaterThan(3_590_000);
  expect(systemClock.setBacks).toBe(setBacks + 1);
});
