import { describe, expect, test } from 'bun:test';
import { until } from '../support/child-process.ts';
import { expectError } from '../support/expect-error.ts';
import { bearer, fixtureFor } from '../support/fixture.ts';
import { executableForm, type Form, sourceForm } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { SIGNING_KID } from '../support/mint.ts';
import { bare, dpopRows, holds, PUBLIC_URL, sendProof } from './table/dpop.ts';

const keys = () => [publish(rsaKey(SIGNING_KID), SIGNING_KID)];

for (const form of [inProcessForm, sourceForm, executableForm] as readonly Form[]) {
  describe(`DPOP=on in ${form.name}`, () => {
    const fixture = fixtureFor(form, { keys, settings: { DPOP: 'on', PUBLIC_URL } });
    dpopRows(fixture, 'on');

    test('says so in the metadata, and lets pages send a proof', async () => {
      const document = await fixture().service.fetch('/.well-known/oauth-protected-resource');
      expect(await document.json()).toMatchObject({
        dpop_signing_alg_values_supported: ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'],
      });
      const preflight = await fixture().service.fetch('/api/private', { method: 'OPTIONS' });
      expect(preflight.headers.get('access-control-allow-headers')).toBe('Content-Type, Authorization, DPoP');
    });
  });

  describe(`DPOP=required in ${form.name}`, () => {
    const fixture = fixtureFor(form, { keys, settings: { DPOP: 'required', PUBLIC_URL } });
    dpopRows(fixture, 'required');

    test('is part of the documentation, with all its responses', async () => {
      const document = await (await fixture().service.fetch('/openapi/json')).text();
      expect(document).toContain('in the request header\\n`Authorization: DPoP <token>`, with a proof');
      for (const reason of ['dpop_required', 'proof_replayed', 'replay_unknown'])
        expect(document).toContain(`"${reason}"`);
      expect(document).not.toContain('"scheme_unsupported"');
      expect(document).toContain('"replay_store_unavailable"');
    });

    test('says so in the metadata', async () => {
      const document = await fixture().service.fetch('/.well-known/oauth-protected-resource');
      expect(await document.json()).toMatchObject({ dpop_bound_access_tokens_required: true });
    });
  });
}

describe('DPOP=required without its store', () => {
  const REDIS_URL = 'redis://user:hunter2@127.0.0.1:1/0';
  const settings = { DPOP: 'required', PUBLIC_URL, REDIS_URL, LOG_LEVEL: 'debug' };
  const fixture = fixtureFor(sourceForm, { keys, settings });

  test('answers a good proof with 503, says why at /readyz, and never reveals the password', async () => {
    const { service } = fixture();
    const readiness = async () => (await service.fetch('/readyz')).text();
    await until(async () => !(await readiness()).includes('key_set_unavailable'), 'the keys');
    expect(await readiness()).toContain('"replay_store_unavailable"');
    const response = await sendProof(fixture());
    await expectError(response, 503, 'replay_store_unavailable');
    expect(response.headers.get('retry-after')).toBe('1');
    expect(service.output()).toContain('Cannot use the replay store');
    expect(service.output()).not.toContain('hunter2');
  });
});

describe('DPOP=off, the default,', () => {
  const fixture = fixtureFor(inProcessForm, { keys, settings: { PUBLIC_URL } });
  holds(fixture, [
    ['no scheme but Bearer is supported', {}, 'invalid_header', bare.Bearer],
    ['a bound token as a plain one', { headers: bearer }, 'invalid_header', 'Bearer error="invalid_token"'],
  ]);
});
