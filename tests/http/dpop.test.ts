import { describe, expect, test } from 'bun:test';
import { exampleDocument } from '../openapi/example-document.ts';
import { until } from '../support/child-process.ts';
import { expectError } from '../support/expect-error.ts';
import { fixtureFor } from '../support/fixture.ts';
import { executableForm } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { bearer } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { bare, dpopRows, holds, PUBLIC_URL, sendProof } from './table/dpop.ts';
import { oneOfEach } from './table/probed.ts';

const byDay = isNight ? undefined : [...oneOfEach, 'dpop'];
for (const [form, mode, only] of [
  [inProcessForm, 'on', byDay],
  [inProcessForm, 'required', undefined],
  [executableForm, 'required', byDay],
] as const)
  describe(`DPOP=${mode} in ${form.name}`, () => {
    const fixture = fixtureFor(form, { settings: { DPOP: mode, PUBLIC_URL } });
    dpopRows(fixture, mode, only);

    test('allows the header DPoP in preflights', async () => {
      const preflight = await fixture().service.fetch('/api/private', { method: 'OPTIONS' });
      expect(preflight.headers.get('access-control-allow-headers')).toBe('Content-Type, Authorization, DPoP');
    });
  });

test('DPOP=required is part of the documentation, with all its responses', async () => {
  const document = JSON.stringify(await exampleDocument({ DPOP: 'required', PUBLIC_URL }));
  expect(document).toContain('in the `Authorization` header: `DPoP <token>`, with a proof');
  for (const reason of ['dpop_required', 'proof_replayed', 'replay_unknown', 'replay_store_unavailable'])
    expect(document).toContain(`"${reason}"`);
  expect(document).not.toContain('"scheme_unsupported"');
});

describe('DPOP=required without its store', () => {
  const REDIS_URL = 'redis://user:hunter2@127.0.0.1:1/0';
  const settings = { DPOP: 'required', PUBLIC_URL, REDIS_URL, LOG_LEVEL: 'debug' };
  const fixture = fixtureFor(executableForm, { settings });

  test('returns 503 to a valid proof, says why at /readyz, and never reveals the password', async () => {
    const { service } = fixture();
    const readiness = async () => (await service.fetch('/readyz')).text();
    await until(async () => !(await readiness()).includes('key_set_unavailable'), 'the keys');
    expect(await readiness()).toContain('"replay_store_unavailable"');
    const response = await sendProof(fixture());
    expect(response.headers.get('retry-after')).toBe('1');
    await expectError(response, 503, 'replay_store_unavailable');
    // Once the cause is found, which the response does not wait for.
    await until(() => service.output().includes('Cannot use the replay store'), 'the line of the log');
    expect(service.output()).not.toContain('hunter2');
  });
});

describe('DPOP=off, the default,', () => {
  holds(fixtureFor(inProcessForm, { settings: { PUBLIC_URL } }), [
    ['no scheme but Bearer is supported', {}, 'invalid_header', bare.Bearer],
    ['a bound token as a plain one', { headers: bearer }, 'invalid_header', 'Bearer error="invalid_token"'],
  ]);
});
