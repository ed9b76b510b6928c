import { afterAll, describe, expect, setSystemTime, test } from 'bun:test';
import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { startServedIssuer } from '../../src/probe/issuer/served-issuer.ts';
import { plan, runProbe } from '../../src/probe/run/probe.ts';

const audience = 'https://api.invalid';
/** Time passes only while the probe waits for it. */
function clockFrom(waits: number[]) {
  return {
    now: () => Date.now(),
    async sleep(ms: number) {
      waits.push(ms);
      setSystemTime(Date.now() + ms);
    },
  };
}
afterAll(() => void setSystemTime());

/** Tries an API of twenty lines that gets its keys from the issuer of the probe. */
async function tried(keysOf: (url: string) => JWTVerifyGetKey, isPatient: boolean, only: readonly string[]) {
  const { issuer, server } = await startServedIssuer({ audience, kid: 'shared' });
  const keys = keysOf(`${server.url}.well-known/jwks.json`);
  const waits: number[] = [];
  const options = { issuer: server.url, audience, algorithms: ['RS256'] };
  const report = await runProbe(
    {
      ...{ issuer, targets: [`${audience}/x`], only, patient: isPatient },
      async fetch(request) {
        const [, token = ''] = /^Bearer ([\w.-]+)$/.exec(request.headers.get('authorization') ?? '') ?? [];
        return jwtVerify(token, keys, options).then(
          ({ payload }) => Response.json({ hello: payload.sub }),
          () => new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } }),
        );
      },
    },
    server,
    clockFrom(waits),
  );
  await server.close();
  const verdicts = Object.fromEntries(report.rows.map(({ id, verdict }) => [id, verdict]));
  return { verdicts, waits, report };
}
const remote = (url: string) => createRemoteJWKSet(new URL(url));
/** A client that keeps what it has. */
const keeping = (url: string): JWTVerifyGetKey => {
  let kept: JSONWebKeySet | undefined;
  let fetchedAt = 0;
  return async (header, token) => {
    const isDue = Date.now() - fetchedAt > 400_000;
    if (isDue)
      await fetch(url, { redirect: 'manual' })
        .then(async (response) => {
          const found = response.ok ? ((await response.json()) as JSONWebKeySet) : undefined;
          if (found?.keys.every((key) => key !== null)) kept = found;
          fetchedAt = Date.now();
        })
        .catch(() => undefined);
    if (!kept) throw new TypeError('no keys');
    return createLocalJWKSet(kept)(header, token);
  };
};

describe('patient', () => {
  test('finds that an outage rejects everybody once the keys are too old, which a run without it does not', async () => {
    const only = ['fetch-outage', 'fetch-aged'];
    const hasty = await tried(remote, false, only);
    expect(hasty.verdicts).toMatchObject({ 'fetch-outage': 'passed', 'fetch-aged': 'skipped' });
    const patient = await tried(remote, true, only);
    expect(patient.verdicts).toMatchObject({
      'fetch-outage': 'passed',
      'fetch-aged': 'warning',
      'control-end': 'passed',
    });
    expect(patient.report.render(false, 1000)).toMatch(/\nStops serving [^\n]*\nwarning +fetch-aged .*: 401/);
  });

  test.each<[what: string, keysOf: (url: string) => JWTVerifyGetKey, waits: readonly number[]]>([
    ['the cooldown of a client', remote, [31_000]],
    ['the cache of a client', keeping, [31_000, 270_000, 300_000, 601_000]],
  ])('waits out %s, and the next time no longer than that', async (_, keysOf, waits) => {
    const only = ['fetch-redirect-forged', 'fetch-redirect', 'fetch-malformed-forged', 'fetch-malformed'];
    const hasty = await tried(keysOf, false, only);
    const patient = await tried(keysOf, true, only);
    expect([hasty.verdicts['fetch-redirect-forged'], patient.verdicts['fetch-redirect-forged']]).toEqual([
      'skipped',
      'passed',
    ]);
    expect(patient.verdicts['fetch-malformed-forged']).toBe('passed');
    expect(patient.waits.filter((ms) => ms >= 31_000)).toEqual([...waits]);
  });

  test('says for how long', () => {
    const lines = plan({ targets: [`${audience}/x`], patient: true }, 'issuer');
    expect(lines[1]).toMatch(/^Waits for at most \d\d minutes in all$/);
  });
});
