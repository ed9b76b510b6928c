import { mintToken } from '../support/mint.ts';
import { seeded } from '../support/seeded.ts';
import { createInstance, type Directory, type Instance, type Times } from './instance.ts';
import { createIssuer, type Issuer, type Mood } from './issuer.ts';
import { brokenBy, calmAfterMs, limitsBrokenBy } from './oracle.ts';
import { createWorld } from './world.ts';

/*
 * A random run: several instances of an API, their issuers, clients with tokens of all kinds, and what goes wrong in
 * operation. Which results are right is decided in oracle.ts.
 */

const minuteMs = 60_000;
const moods: readonly Mood[] = ['slow', 'down', 'failing', 'wrong', 'stale'];
/** Values of the settings, small and large ones, and the defaults. */
const choices = {
  jwksMaxAgeSeconds: [1, 30, 600, 600],
  jwksMaxStaleSeconds: [0, 1, 60, 3600, 86_400],
  jwksCooldownSeconds: [1, 5, 30, 30, 120],
  jwksTimeoutSeconds: [1, 5, 5],
} as const;

const tokens = new Map<string, string>();

/** Returns a token. A key of the issuer signs it only if that is genuine. */
export function tokenOf(issuer: Issuer, kid: string, isGenuine: boolean): string {
  const id = `${issuer.name} ${kid} ${isGenuine}`;
  const signer = isGenuine ? kid : 'a stranger';
  const header = { alg: 'EdDSA', kid };
  const token =
    tokens.get(id) ??
    mintToken(issuer.name, { header, claims: { iat: 0, exp: 9e9 }, signedAs: 'EdDSA', key: issuer.sign(signer) });
  tokens.set(id, token);
  return token;
}

/** Runs the simulation, and returns which rules were broken, each with the time and the settings. */
export async function simulate(
  seed: number,
  { minutes = 60, hasDirectory = seed % 2 === 1, instances: count = 3 } = {},
) {
  const below = seeded(seed);
  const random = (limit: number) => Math.min(below(limit), limit - 1);
  const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)] as Value;
  const world = createWorld();
  const picked = Object.fromEntries(
    Object.entries(choices).map(([name, values]) => [name, pick<number>(values)]),
  ) as unknown as Times;
  // A guard accepts no longer cooldown.
  const longest = picked.jwksMaxAgeSeconds + picked.jwksMaxStaleSeconds;
  const times = { ...picked, jwksCooldownSeconds: Math.min(picked.jwksCooldownSeconds, longest) };
  const issuers = [1, 2].map((index) => createIssuer(world, `https://issuer-${index}.example.test`, random));
  const known = new Set(issuers.map(({ name }) => name));
  let isDirectoryDown = false;
  let directoryCalmSince = 0;
  const directory: Directory = (iss) => ({
    said: isDirectoryDown ? 'nothing' : known.has(iss) ? 'yes' : 'no',
    latencyMs: isDirectoryDown && random(2) === 0 ? 20_000 : random(100),
  });
  const create = () => createInstance(world, issuers, times, random, hasDirectory ? directory : undefined);
  const instances = Array.from({ length: count }, create);
  const broken = new Map<string, string>();
  const outcomes = new Map<string, number>();
  const report = (rule: string) => {
    const at = `${(world.now() / 1000).toFixed(1)} s`;
    if (!broken.has(rule))
      broken.set(
        rule,
        `seed ${seed}, ${at}, ${hasDirectory ? 'a function' : 'a list'}, ${JSON.stringify(times)}: ${rule}`,
      );
  };

  async function send(): Promise<void> {
    const [instance, issuer] = [pick(instances), pick(issuers)] as const;
    const kid =
      random(8) === 0 ? `key-${random(1000)}` : `key-${random(Number([...issuer.kids()].at(-1)?.slice(4)) + 2)}`;
    const isGenuine = random(10) > 0;
    const sentAt = world.now();
    const wasPaused = instance.isPaused();
    const outcome = await instance.check(tokenOf(issuer, kid, isGenuine));
    if (instance.isGone()) return;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const isDirectoryCalm =
      !hasDirectory ||
      (known.has(issuer.name) &&
        !isDirectoryDown &&
        world.now() - directoryCalmSince > calmAfterMs(times) + 1000 * times.jwksMaxAgeSeconds);
    const now = world.now();
    const judged = { instance, issuer, kid, isGenuine, now, outcome, times, hasDirectory, isDirectoryCalm };
    // A process that was stopped in the meantime could not respond.
    const hasWaited = !wasPaused && instance.hasRunFor(now - sentAt);
    for (const rule of brokenBy({ ...judged, sentAt: hasWaited ? sentAt : now })) report(rule);
  }

  const troubles: readonly (() => void)[] = [
    () => pick(issuers).setMood(pick(moods)),
    ...Array.from({ length: 4 }, () => () => issuers.forEach((issuer) => void issuer.setMood('up'))),
    () => pick(issuers).addKey(),
    () => pick(issuers).addKey(),
    () => pick(issuers).withdrawKey(),
    () => pick(issuers).move(),
    () => pick(instances).pause(pick([500, 10_000, 10 * minuteMs])),
    () => pick(instances).reload(),
    () => {
      const at = random(instances.length);
      finish(instances[at] as Instance);
      instances[at] = create();
    },
    () => {
      isDirectoryDown = !isDirectoryDown;
      directoryCalmSince = world.now();
    },
    () => {
      const { name } = pick(issuers);
      if (!known.delete(name)) known.add(name);
      directoryCalmSince = world.now();
    },
  ];
  function finish(instance: Instance): void {
    for (const rule of limitsBrokenBy(instance, times, hasDirectory)) report(rule);
    instance.end();
  }

  const untilMs = minutes * minuteMs;
  // Bursts and long pauses without a request.
  const sendLater = () =>
    world.schedule(
      () => {
        void send();
        sendLater();
      },
      random(8) === 0 ? random(2 * minuteMs) : random(2000),
    );
  const troubleLater = () =>
    world.schedule(
      () => {
        pick(troubles)();
        troubleLater();
      },
      random(4 * minuteMs),
    );
  sendLater();
  troubleLater();
  await world.run(untilMs);
  for (const instance of instances) finish(instance);
  return { broken: [...broken.values()], outcomes: Object.fromEntries(outcomes) };
}
