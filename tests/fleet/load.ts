import { seeded } from '../support/seeded.ts';
import { createInstance, type Times } from './instance.ts';
import { createIssuer } from './issuer.ts';
import { tokenOf } from './simulation.ts';
import { createWorld } from './world.ts';

const minuteMs = 60_000;
/** The defaults. */
const times: Times = {
  jwksMaxAgeSeconds: 600,
  jwksMaxStaleSeconds: 86_400,
  jwksCooldownSeconds: 30,
  jwksTimeoutSeconds: 5,
};

/**
 * Returns what an issuer gets from so many instances, which start within a minute, and each of which gets a request a
 * minute: requests a minute in calm (the most, and the mean), at a rotation, in an outage of 20 minutes and after it;
 * and the seconds until the last instance has recovered, and until the last one rejects a key that is withdrawn right
 * after all have fetched it.
 */
async function measureFleet(count: number) {
  const random = seeded(count);
  const world = createWorld();
  const issuer = createIssuer(world, 'https://issuer.example.test', random);
  let isEnded = false;
  let current = 'key-0';
  const instances: ReturnType<typeof createInstance>[] = [];
  for (let index = 0; index < count; index += 1)
    world.schedule(() => {
      const instance = createInstance(world, [issuer], times, random);
      instances.push(instance);
      const send = () => {
        if (isEnded) return;
        void instance.check(tokenOf(issuer, current, true));
        world.schedule(send, minuteMs);
      };
      send();
    }, random(minuteMs));

  /** Lets minutes pass, and returns the number of requests in each. */
  async function pass(minutes: number): Promise<readonly number[]> {
    const counted: number[] = [];
    for (let minute = 0; minute < minutes; minute += 1) {
      const before = issuer.requests();
      await world.run(world.now() + minuteMs);
      counted.push(issuer.requests() - before);
    }
    return counted;
  }

  await pass(20);
  const calm = await pass(40);
  issuer.addKey();
  current = 'key-1';
  const rotation = await pass(1);
  issuer.withdrawKey();
  const withdrawnAt = world.now();
  await pass(15);
  const rejectedAfter = instances.map(({ attempts }) => {
    const knowing = attempts.find(({ isGood, sent }) => isGood && sent?.kids.has('key-0') === false);
    return (knowing?.endAt ?? Number.POSITIVE_INFINITY) - withdrawnAt;
  });
  issuer.setMood('down');
  const outage = await pass(20);
  issuer.setMood('up');
  const upAt = world.now();
  const after = await pass(5);
  const recoveredAfter = instances.map(
    ({ attempts }) =>
      (attempts.find(({ isGood, endAt }) => isGood && (endAt ?? 0) > upAt)?.endAt ?? Number.POSITIVE_INFINITY) - upAt,
  );
  isEnded = true;
  for (const instance of instances) instance.end();
  const max = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b));
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b) / values.length;
  return [
    max(calm),
    mean(calm),
    max(rotation),
    max(outage),
    max(after),
    max(recoveredAfter) / 1000,
    max(rejectedAfter) / 1000,
  ].map(Math.round);
}

/** Returns the row of deploy/internals.md for so many instances. */
export const fleetRow = async (count: number) => [count, ...(await measureFleet(count))];
