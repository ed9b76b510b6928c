import { describe, expect, test } from 'bun:test';
import { bearer, nowSeconds } from '../support/mint.ts';
import { exampleFixture } from './server-rows.ts';

describe.each(['websocket', 'ws'])('examples/%s.ts', (name) => {
  const fixture = exampleFixture(`examples/${name}.ts`);

  /** Opens a socket, sends a message, and resolves with what happened until it was closed. */
  const talk = (headers: Record<string, string>) =>
    new Promise<readonly string[]>((done) => {
      const events: string[] = [];
      const socket = new WebSocket(`${fixture().service.origin.replace('http', 'ws')}/messages`, { headers });
      socket.onopen = () => socket.send('echo');
      socket.onmessage = ({ data }) => void events.push(String(data));
      socket.onclose = ({ code, reason }) => done([...events, `${code} ${reason}`]);
    });

  test('takes messages until the token expires, and then closes the socket', async () => {
    let exp = 0;
    let events: readonly string[] = [];
    // On a slow machine, the token may expire before it is sent.
    for (let seconds = 1; events.length < 2; seconds *= 2) {
      exp = nowSeconds() + seconds;
      events = await talk(bearer(fixture().mint({ claims: { exp } })));
    }
    expect(events).toEqual(['Hello client-1', 'echo', '1008 Token is expired']);
    expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000);
  });

  for (const [name, token, status] of [
    ['no token', undefined, 401],
    ['an expired token', { claims: { exp: 1 } }, 401],
    ['a token without the scope', { claims: { scope: '' } }, 403],
  ] as const)
    test(`responds with ${status} instead of the upgrade to ${name}`, async () => {
      const headers = token ? bearer(fixture().mint(token)) : {};
      const [end = '', ...others] = await talk(headers);
      expect([end.slice(0, 4), others]).toEqual(['1006', []]);
      const upgrade = { connection: 'upgrade', upgrade: 'websocket' };
      const response = await fixture().service.fetch('/messages', { headers: { ...headers, ...upgrade } });
      expect(response.status).toBe(status);
      expect(response.headers.get('www-authenticate')).toContain('scope="read:messages"');
    });
});
