import { expect, setSystemTime, test } from 'bun:test';
import { base64url, decodeJwt, decodeProtectedHeader } from 'jose';
import { createGuard, type GuardOptions } from 'protected-api';
import { START_TIMEOUT_MS } from '../support/fixture.ts';
import { bearer } from '../support/mint.ts';
import type { RealServer, Sent, Settings } from './servers/real-server.ts';
import { type Seen, seen } from './servers/seen.ts';
import type { Running } from './servers/start.ts';

/*
 * What happens to the tokens of a server as time passes: to its clock, its keys and itself. The tests build on each
 * other: the last one leaves it stopped.
 */

type OptionsWith = (settings?: Settings, sent?: Sent) => GuardOptions;

/** Returns a guard that says why it rejects a token, or `accepted`, and remembers what it fetches. */
function observedGuard(options: GuardOptions) {
  let reason: string | undefined;
  /** The Cache-Control of each key set. */
  const cacheControls: (string | null)[] = [];
  const guard = createGuard({
    // A server that has just started takes its time.
    jwksTimeoutSeconds: 30,
    ...options,
    onRejected(_, why) {
      reason = why;
    },
    async fetch(address, init) {
      const response = await fetch(address, init);
      const document: unknown = response.ok && (await response.clone().json());
      if ('keys' in Object(document)) cacheControls.push(response.headers.get('cache-control'));
      return response;
    },
  });
  const decide = async (token: string) => {
    reason = undefined;
    const result = await guard.check(new Request('https://api.example.com/', { headers: bearer(token) }));
    return result instanceof Response ? `${result.status} ${reason}` : 'accepted';
  };
  return { guard, decide, cacheControls };
}

export function testOverTime(server: RealServer, running: () => Running, optionsWith: OptionsWith) {
  const cells: Seen = seen[server.name];
  const sent = server.isOpaque && 'introspected';
  const options = (more: Partial<GuardOptions> = {}) => ({ ...optionsWith({}, sent || undefined), ...more });
  const newToken = () => server.application(running().started);

  test('a clock two minutes off: tokens need the tolerance, never the other way round', async () => {
    const token = await newToken();
    const introspected = await server.introspect?.(running().started)?.(token, { signal: AbortSignal.timeout(60_000) });
    const { exp = 0 }: { readonly exp?: number } = server.isOpaque ? Object(introspected) : decodeJwt(token);
    const [early, late] = [Date.now() - 120_000, (exp + 120) * 1000];
    const decideAt = async (time: number, clockToleranceSeconds?: number) => {
      const { decide } = observedGuard(options(clockToleranceSeconds ? { clockToleranceSeconds } : {}));
      setSystemTime(new Date(time));
      return decide(token).finally(() => setSystemTime());
    };
    expect({
      early: await decideAt(early),
      earlyWithTolerance: await decideAt(early, 180),
      late: await decideAt(late),
      lateWithTolerance: await decideAt(late, 180),
    }).toEqual({
      early: cells.ahead === 'accepted' ? 'accepted' : `401 ${cells.ahead}`,
      earlyWithTolerance: 'accepted',
      late: '401 token_expired',
      lateWithTolerance: 'accepted',
    });
  });

  test(`its key set has the header that the table names`, async () => {
    const { guard, cacheControls } = observedGuard(options({ introspect: undefined }));
    await guard.reload();
    guard.stop();
    const expected = cells.cacheControl.startsWith('none:') ? 'null' : cells.cacheControl.replaceAll('=N', '=\\d+');
    expect(cacheControls.map(String)).toEqual([
      expect.stringMatching(new RegExp(`^(?:${expected.replaceAll(' or ', '|')})$`)),
    ]);
  });

  test(
    `a restart: ${cells.restart}`,
    async () => {
      const { guard, decide } = observedGuard(options());
      const before = await newToken();
      expect(await decide(before)).toBe('accepted');
      running().started = await running().started.restart();
      const after = await newToken();
      expect(await decide(after)).toBe('accepted');
      const isKept = cells.restart !== 'makes new keys';
      expect([await decide(before), await observedGuard(options()).decide(before)]).toEqual(
        isKept ? ['accepted', 'accepted'] : ['401 key_unknown', '401 key_unknown'],
      );
      guard.stop();
    },
    START_TIMEOUT_MS,
  );

  if (!cells.rotation.startsWith('none:'))
    test(
      `its key is replaced: ${cells.rotation}`,
      async () => {
        const change = async (keys: string, path: string) => {
          const { restart, control } = running().started;
          if (cells.rotation.endsWith('restart')) running().started = await restart(keys);
          else expect((await fetch(`${control}${path}`, { method: 'POST', keepalive: false })).status).toBe(200);
        };
        // From the keys that it had made by itself, there is no way back to them.
        if (cells.restart === 'makes new keys' && cells.rotation.endsWith('restart')) await change('issuer', '');
        const before = await newToken();
        const { guard, decide } = observedGuard(options());
        expect(await decide(before)).toBe('accepted');
        await change('stranger issuer', '/rotate');
        const after = await newToken();
        const [oldKid, newKid] = [before, after].map((token) => decodeProtectedHeader(token).kid);
        expect(oldKid === newKid).toBe(cells.rotation.startsWith('same kid'));
        // The first request that shows the new key.
        expect(await decide(after)).toBe('accepted');
        const gone = oldKid === newKid ? '401 signature_invalid' : '401 key_unknown';
        if (cells.rotation.startsWith('overlapping')) {
          expect(await decide(before)).toBe('accepted');
          await change('stranger', '/withdraw');
          // Until the next refresh.
          expect(await decide(before)).toBe('accepted');
          await guard.reload();
        }
        expect([await decide(before), await decide(after)]).toEqual([gone, 'accepted']);
        guard.stop();
      },
      START_TIMEOUT_MS,
    );

  test(`an outage: a guard decides with ${cells.outage}`, async () => {
    const token = await newToken();
    const { guard, decide } = observedGuard(options());
    expect(await decide(token)).toBe('accepted');
    await running().started.close();
    if (server.isOpaque) {
      expect(await decide(token)).toBe('503 introspection_unavailable');
      return;
    }
    const header = base64url.encode(JSON.stringify({ ...decodeProtectedHeader(token), kid: 'of a new key' }));
    const withNewKid = token.replace(/^[^.]*/, header);
    expect([await decide(token), await decide(withNewKid), await decide(token)]).toEqual([
      'accepted',
      '503 keys_unavailable',
      'accepted',
    ]);
    expect(await observedGuard(options()).decide(token)).toBe('503 keys_unavailable');
    guard.stop();
  });
}
