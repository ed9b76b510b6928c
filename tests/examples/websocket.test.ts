import { describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { bearer, nowSeconds } from '../support/mint.ts';
import { pour } from '../support/raw-http.ts';
import { exampleFixture } from './server-rows.ts';

/** Returns the request that opens a socket, with more headers. */
function opening(headers: Readonly<Record<string, string>>): string {
  const fields = {
    ...{ host: 'localhost', connection: 'upgrade', upgrade: 'websocket' },
    ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', ...headers },
  };
  const lines = Object.entries(fields).map((field) => `${field.join(': ')}\r\n`);
  return `GET /messages HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Returns a message of so many bytes, as a client sends it. */
function message(length: number): string {
  const head = Buffer.from([0x82, 0xff, ...Array(12).fill(0)]);
  head.writeUInt32BE(length, 6);
  return head.toString('latin1') + 'a'.repeat(length);
}

describe('examples/ws.ts', () => {
  const fixture = exampleFixture('examples/ws.ts');

  test('closes the connection of a rejected client that keeps its own side open', async () => {
    const { port } = new URL(fixture().service.origin);
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    const closed = new Promise((done) =>
      socket
        .on('error', () => {})
        .on('close', done)
        .resume(),
    );
    socket.write(opening({}));
    await once(socket, 'end');
    // The reset is noticed only by who writes.
    const timer = setInterval(() => socket.write('x'), 10);
    await closed;
    clearInterval(timer);
  });
});

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
    // On a slow machine, the token may expire before it is sent, or before the response to the message.
    for (let seconds = 1; events.length < 3 && seconds < 100; seconds *= 2) {
      exp = nowSeconds() + seconds;
      events = await talk(bearer(fixture().mint({ claims: { exp } })));
    }
    expect(events).toEqual(['Hello client-1', 'echo', '1008 Token is expired']);
    expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000);
  });

  test('ends the connection of a client that sends a long message, or reads nothing', async () => {
    const { port } = new URL(fixture().service.origin);
    const given = opening(bearer(fixture().mint({ claims: { scope: 'read:messages' } })));
    expect(await pour(Number(port), given, message(65_537), 2 ** 28)).toBeLessThan(2 ** 25);
    expect(await pour(Number(port), given, message(32_768), 2 ** 28, false)).toBeLessThan(2 ** 27);
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
