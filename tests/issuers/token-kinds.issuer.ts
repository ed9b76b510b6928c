import { describe, expect, test } from 'bun:test';
import { createGuard, optionsFromEnvironment } from 'protected-api';
import { explainToken } from 'protected-api/explain';
import { issuers } from '../../scripts/issuer-pages.ts';
import { certificate } from '../support/certificates.ts';
import { startedFor } from '../support/fixture.ts';
import { bearer, SCOPE } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { proven } from '../support/proof.ts';
import { testOverTime } from './over-time.ts';
import { realServers } from './servers/real.ts';
import { type RealServer, rowsOf, type Sent, type Settings } from './servers/real-server.ts';
import { type Seen, seen } from './servers/seen.ts';
import { start } from './servers/start.ts';

/** Whether this is a pipeline's run by day, which has no minutes for these. */
const isBrief = process.env.CI === 'true' && !isNight;
const url = 'https://api.example.com/';

/** Returns the headers of a request with a token, and what else is sent with it. */
function headersOf(token: string, sent: Sent | undefined): Record<string, string> {
  if (sent === 'proof') return proven(token, url);
  const names = { certificate: 'a', anotherCertificate: 'b' } as const;
  const name = sent && sent !== 'introspected' ? names[sent] : undefined;
  return { ...bearer(token), ...(name && { 'client-cert': certificate(name).field }) };
}

for (const server of realServers) {
  const missing = server.needs.filter((program) => !Bun.which(program));
  if (isBrief || missing.length > 0) {
    const why = isBrief ? 'it runs at night, or without CI=true' : `this machine has no ${missing.join(', ')}`;
    process.stdout.write(`NOT CHECKED: ${server.name}: ${why}\n`);
    continue;
  }
  describe(`${server.name} ${server.version}`, () => testServer(server));
}

function testServer(server: RealServer) {
  const running = startedFor(
    () => start(server),
    async ({ started }) => started.close(),
  );
  const settingsWith = (settings: Settings = {}): Settings => {
    const page = issuers.find(({ slug }) => slug === server.page)?.settings;
    return { ...page, ...server.settings, ...settings, ISSUER: running().started.issuer };
  };
  const optionsWith = (settings?: Settings, sent?: Sent) => {
    const introspect = sent === 'introspected' ? server.introspect?.(running().started) : undefined;
    return { ...optionsFromEnvironment(settingsWith(settings)), introspect };
  };
  const rows = rowsOf(server);

  test('gives out every kind of token that is expected of it, and that the table names', () => {
    const issued = Object.entries(running().tokens).filter(([, token]) => token !== undefined);
    expect(issued.map(([kind]) => kind).toSorted()).toEqual([...new Set(rows.map(({ kind }) => kind))].toSorted());
    const cells: Seen = seen[server.name];
    const named = Object.values(cells).flatMap((cell) => /^row (.*)/.exec(cell)?.[1] ?? []);
    expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(named));
  });

  for (const { name, decided, settings, kind, sent } of rows) {
    test(`${name}: ${decided}, and explain says the same`, async () => {
      const token = running().tokens[kind] ?? '';
      const options = optionsWith(settings, sent);
      const reasons: (string | undefined)[] = [];
      const guard = createGuard({ ...options, onRejected: (_, reason) => void reasons.push(reason) });
      const check = async (headers: Record<string, string>, requirements = {}) => {
        if (!((await guard.check(new Request(url, { headers }), requirements)) instanceof Response))
          reasons.push(undefined);
      };
      const headers = headersOf(token, sent);
      await check(headers);
      await check(headersOf(token, sent), { scope: SCOPE });
      const scoped = decided === 'withoutScope' ? 'scope_insufficient' : decided;
      expect(reasons).toEqual(
        decided === 'accepted' ? [undefined, undefined] : [decided === 'withoutScope' ? undefined : decided, scoped],
      );
      if (sent === 'proof') {
        await check(headers);
        expect(reasons[2]).toBe('proof_replayed');
      }
      // It has no certificate to check.
      if (sent === 'certificate' || sent === 'anotherCertificate') return;
      const pasted = Object.entries(headersOf(token, sent)).map(([header, value]) => `${header}: ${value}`);
      const requirements = { scope: SCOPE };
      const { status, isAccepted, advice } = await explainToken(pasted.join('\n'), options, { requirements });
      if (process.env.SHOW) console.log(name, '|', advice);
      expect({ isAccepted, is200: status === 200 }).toEqual({
        isAccepted: reasons[0] === undefined,
        is200: reasons[1] === undefined,
      });
    });
  }

  // An opaque token tells nothing, and cannot be checked without its server.
  if (!server.isOpaque)
    test('explain finds settings that accept its token, and leads back from a wrong one in one step', async () => {
      const token = running().tokens.application ?? '';
      const explain = (given: Parameters<typeof explainToken>[1], requirements = {}) =>
        explainToken(token, given, { words: 'settings', requirements });
      const { suggestion } = await explain({});
      expect((await explain(optionsFromEnvironment({ ...suggestion?.settings }))).status).toBe(200);

      const right = settingsWith();
      const wrong: Settings = {
        ...{ ISSUER: 'http://127.0.0.1:1/', AUDIENCE: 'https://wrong.example.test/', ALGORITHMS: 'PS512' },
        ...(right.SCOPE_CLAIM && { SCOPE_CLAIM: 'wrong' }),
      };
      for (const [name, value] of Object.entries(wrong)) {
        const options = optionsFromEnvironment({ ...right, [name]: value });
        const { status, advice } = await explain(options, { scope: SCOPE });
        expect({ name, status, advice }).not.toMatchObject({ status: 200 });
        expect(advice).toContain(name);
        expect(advice).toContain(right[name] ?? 'RS256');
      }
    });

  test.each(['idToken', 'logoutToken'])('explain suggests nothing that accepts the %s', async (kind) => {
    const token = running().tokens[kind];
    if (token === undefined) return;
    const { suggestion } = await explainToken(token, {}, { words: 'settings' });
    const { status } = await explainToken(token, optionsFromEnvironment({ ...suggestion?.settings }));
    expect(status).toBeOneOf([401, 403]);
  });

  testOverTime(server, running, optionsWith);
}
