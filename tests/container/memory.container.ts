import { expect, test } from 'bun:test';
import { freePort, until, untilReachable } from '../support/child-process.ts';
import { docker, runContainer } from '../support/container.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, signingKey } from '../support/keys.ts';
import { AUDIENCE, bearer, mintToken } from '../support/mint.ts';

/** For the ten minutes of a full run: `MEMORY_SECONDS=600 bun test ./tests/container/memory.container.ts`. */
const seconds = Number(process.env.MEMORY_SECONDS ?? 10);
/** As in `deploy/`. */
const limit = '256m';

let made = 0;
/** Short, so that the tokens stay below 8 KiB however many were made. */
const id = () => made.toString(36);
const list = (length: number, member: (index: number) => unknown) =>
  Array.from({ length }, (_, index) => member(index));
const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

/** Claims that take the most memory for tokens of less than 8 KiB, all of them different. */
const shapes: Readonly<Record<string, () => Readonly<Record<string, unknown>>>> = {
  'no more than they must have': () => ({}),
  'empty objects': () => ({ claim: list(1800, () => ({})) }),
  'empty lists': () => ({ claim: list(1800, () => []) }),
  'objects of one member': () => ({ claim: list(580, (index) => ({ a: index })) }),
  'objects with names of their own': () => ({ claim: list(340, (index) => ({ [`n${id()}_${index}`]: 0 })) }),
  'objects with numbers as names': () => ({ claim: list(380, (index) => ({ [index * 1000]: 0 })) }),
  'a long list of roles': () => ({ roles: list(420, (index) => `r${id()}-${index}`) }),
  'a long list of numbers': () => ({ claim: list(2500, (index) => index % 10) }),
  'text of two bytes a character': () => ({ claim: 'é'.repeat(2500) }),
  'lists in lists': () => ({ claim: nested(2300) }),
};

test(
  `a container with ${limit} of memory survives ${seconds} s of the tokens that take the most memory`,
  async () => {
    const key = signingKey('ES256', 'memory');
    await using issuer = await startIssuer([publish(key, 'memory')]);
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const settings = { ISSUER: issuer.url, AUDIENCE, ALGORITHMS: 'ES256', HOST: '127.0.0.1', PORT: String(port) };
    const options = ['--network', 'host', '--memory', limit, '--memory-swap', limit];
    const container = await runContainer(options, settings);
    await untilReachable(origin, container.process);
    await until(async () => (await fetch(`${origin}/readyz`)).ok, 'keys are held');

    const request = async (claims: Readonly<Record<string, unknown>>) => {
      made += 1;
      const token = mintToken(issuer.url, {
        header: { alg: 'ES256', kid: 'memory' },
        claims: { ...claims, jti: String(made) },
        signedAs: 'ES256',
        key,
      });
      return (await fetch(`${origin}/api/private`, { headers: bearer(token) })).status;
    };
    for (const [name, claims] of Object.entries(shapes)) {
      const end = performance.now() + (seconds * 1000) / Object.keys(shapes).length;
      const statuses = new Set<number>();
      while (performance.now() < end)
        for (const status of await Promise.all(list(32, () => request(claims())) as Promise<number>[]))
          statuses.add(status);
      expect({ name, statuses: [...statuses] }).toEqual({ name, statuses: [200] });
    }
    const state = await docker('inspect', '--format', '{{.State.Running}} {{.State.OOMKilled}}', container.name);
    expect(state).toBe('true false');
    expect((await container.stop()).status).toBe(0);
  },
  // The image may have to be built first.
  (seconds + 600) * 1000,
);
