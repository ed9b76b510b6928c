import { describe, expect, setSystemTime, test } from 'bun:test';
import { createGuard, optionsFromEnvironment } from 'protected-api';
import { explainToken } from 'protected-api/explain';
import { issuers } from '../../scripts/issuer-pages.ts';
import { startedFor } from '../support/fixture.ts';
import { bearer, SCOPE } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { realServers } from './servers/real.ts';
import { start } from './servers/start.ts';

/** Whether this is a pipeline's run by day, which has no minutes for these. */
const isBrief = process.env.CI === 'true' && !isNight;

for (const server of realServers) {
  const missing = server.needs.filter((program) => !Bun.which(program));
  if (isBrief || missing.length > 0) {
    const why = isBrief ? 'it runs at night, or without CI=true' : `this machine has no ${missing.join(', ')}`;
    process.stdout.write(`NOT CHECKED: ${server.name}: ${why}\n`);
    continue;
  }
  describe(`${server.name} ${server.version}`, () => {
    const started = startedFor(
      () => start(server),
      ({ close }) => close(),
    );
    const settingsWith = (settings: Readonly<Record<string, string>> = {}) => {
      const page = issuers.find(({ slug }) => slug === server.page)?.settings;
      return { ...page, ...server.settings, ...settings, ISSUER: started().issuer };
    };

    test('gives out every kind of token that is expected of it', () => {
      const kinds = Object.entries(server.expected).map(([kind, each]) =>
        typeof each === 'string' ? kind : (each[2] ?? kind),
      );
      const issued = Object.entries(started().tokens).filter(([, token]) => token !== undefined);
      expect(issued.map(([kind]) => kind).toSorted()).toEqual([...new Set(kinds)].toSorted());
    });

    for (const [kind, expected] of Object.entries(server.expected)) {
      const [decided, settings = {}, of = kind] = typeof expected === 'string' ? [expected] : expected;
      test(`${kind}: ${decided}, and explain says the same`, async () => {
        const token = started().tokens[of] ?? '';
        const given = settingsWith(settings);
        const options = { ...optionsFromEnvironment(given), introspect: server.introspect?.(started().issuer) };
        const reasons: (string | undefined)[] = [];
        const onRejected = (_: object, reason: string) => void reasons.push(reason);
        const guard = createGuard({ ...options, onRejected });
        for (const requirements of [{}, { scope: SCOPE }]) {
          const request = new Request('https://api.example.com/', { headers: bearer(token) });
          if (!((await guard.check(request, requirements)) instanceof Response)) reasons.push(undefined);
        }
        const scoped = decided === 'withoutScope' ? 'scope_insufficient' : decided;
        expect(reasons).toEqual(
          decided === 'accepted' ? [undefined, undefined] : [decided === 'withoutScope' ? undefined : decided, scoped],
        );
        const { status, isAccepted } = await explainToken(token, options, { requirements: { scope: SCOPE } });
        expect({ isAccepted, is200: status === 200 }).toEqual({
          isAccepted: reasons[0] === undefined,
          is200: reasons[1] === undefined,
        });
      });
    }

    // An opaque token tells nothing, and cannot be checked without its server.
    if (server.introspect) return;

    test('explain finds settings that accept its tokens from one of them', async () => {
      const { suggestion } = await explainToken(started().tokens.application ?? '', {}, { words: 'settings' });
      const options = optionsFromEnvironment({ ...suggestion?.settings });
      expect((await explainToken(started().tokens.application ?? '', options)).status).toBe(200);
    });

    test('its tokens are accepted two minutes early with a tolerance, and while it is down', async () => {
      const guard = createGuard({ ...optionsFromEnvironment(settingsWith()), clockToleranceSeconds: 180 });
      const check = () =>
        guard.check(new Request('https://api.example.com/', { headers: bearer(started().tokens.application ?? '') }));
      setSystemTime(new Date(Date.now() - 120_000));
      expect(await check()).not.toBeInstanceOf(Response);
      setSystemTime();
      await started().close();
      expect(await check()).not.toBeInstanceOf(Response);
      guard.stop();
    });
  });
}
