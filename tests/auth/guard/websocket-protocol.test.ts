import { afterAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type AnyElysia, Elysia } from 'elysia';
import { Hono } from 'hono';
import { upgradeWebSocket, websocket } from 'hono/bun';
import { WebSocketServer } from 'ws';
import { resourceServer } from '../../../src/auth/elysia.ts';
import { authOf as authOfContext, requireToken } from '../../../src/auth/hono.ts';
import { createGuard } from '../../../src/auth/index.ts';
import { authOf, checkIncoming } from '../../../src/auth/node.ts';
import { offline, tokenOf } from '../../support/checked.ts';

/** The option `webSocketProtocol`: a browser sends the token of an upgrade as a subprotocol. */
const token = tokenOf({ claims: { sub: 'reader', scope: 'a' } });

const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
const offering = (offers: string, others: Record<string, string> = {}) => ({
  ...upgrade,
  'sec-websocket-protocol': offers,
  ...others,
});

type Row = readonly [headers: Record<string, string>, required: string, optional?: string, method?: string];

/** What a request with these headers is rejected for, where a token is required and where it is optional. */
const rows: Readonly<Record<string, Row>> = {
  'bearer and the token': [offering(`bearer, ${token}`), 'accepted'],
  'other subprotocols after them': [offering(`bearer, ${token}, graphql-ws`), 'accepted'],
  'no space between them': [offering(`bearer,${token}`), 'accepted'],
  'Upgrade in capitals': [offering(`bearer, ${token}`, { upgrade: 'WebSocket' }), 'accepted'],
  'a blank Authorization header': [offering(`bearer, ${token}`, { authorization: ' ' }), 'accepted'],
  'a good Authorization header too': [offering('bearer, x', { authorization: `Bearer ${token}` }), 'accepted'],
  'a bad Authorization header too': [
    offering(`bearer, ${token}`, { authorization: 'Basic eDp5' }),
    'scheme_unsupported',
  ],
  'an expired token': [offering(`bearer, ${tokenOf({ claims: { exp: 1 } })}`), 'token_expired'],
  'a text that is no token': [offering('bearer, x'), 'token_opaque'],
  'bearer alone': [offering('bearer'), 'credentials_malformed'],
  'bearer and an empty text': [offering('bearer, '), 'credentials_malformed'],
  'bearer and two words': [offering(`bearer, ${token} x`), 'credentials_malformed'],
  'the token first': [offering(`${token}, bearer`), 'credentials_malformed'],
  'another subprotocol first': [offering(`graphql-ws, bearer, ${token}`), 'credentials_malformed'],
  'bearer twice': [offering(`bearer, ${token}, bearer`), 'credentials_malformed'],
  'Bearer in capitals': [offering(`Bearer, ${token}`), 'credentials_malformed'],
  'the token alone': [offering(token), 'credentials_missing', 'accepted'],
  'another subprotocol': [offering('graphql-ws'), 'credentials_missing', 'accepted'],
  'no subprotocol': [upgrade, 'credentials_missing', 'accepted'],
  'no upgrade': [{ 'sec-websocket-protocol': `bearer, ${token}` }, 'credentials_missing', 'accepted'],
  'an upgrade to something else': [offering(`bearer, ${token}`, { upgrade: 'h2c' }), 'credentials_missing', 'accepted'],
  'another method': [offering(`bearer, ${token}`), 'credentials_missing', 'accepted', 'POST'],
};

describe('an upgrade with the option', () => {
  const reasons: string[] = [];
  const guard = createGuard({
    ...offline(),
    webSocketProtocol: 'bearer',
    onRejected: (_, reason) => reasons.push(reason),
  });
  const outcome = async (headers: Record<string, string>, method: string, optional: boolean) => {
    const result = await guard.check(new Request('http://localhost/events', { method, headers }), { optional });
    return 'claims' in result ? 'accepted' : reasons.pop();
  };

  for (const [name, [headers, required, optional = required, method = 'GET']] of Object.entries(rows))
    test(`that has ${name}: ${required}`, async () => {
      expect(await outcome(headers, method, false)).toBe(required);
      expect(await outcome(headers, method, true)).toBe(optional);
    });

  test('says nothing of the token in its rejection', async () => {
    for (const offers of [`${token}, bearer`, `bearer, ${token}x`]) {
      const result = await guard.check(new Request('http://localhost/', { headers: offering(offers) }));
      if (!(result instanceof Response)) throw new Error('accepted');
      expect(JSON.stringify([...result.headers]) + (await result.text())).not.toContain(token);
    }
  });

  test('needs the scheme DPoP where DPoP is required', async () => {
    const reasonOf: string[] = [];
    const strict = createGuard({
      ...offline(),
      webSocketProtocol: 'bearer',
      dpop: 'required',
      publicUrl: 'https://api.example.test',
      onRejected: (_, reason) => reasonOf.push(reason),
    });
    await strict.check(new Request('http://localhost/', { headers: offering(`bearer, ${token}`) }));
    expect(reasonOf).toEqual(['dpop_required']);
  });
});

test('without the option, no subprotocol is a token', async () => {
  const result = await createGuard(offline()).check(
    new Request('http://localhost/', { headers: offering(`bearer, ${token}`) }),
  );
  expect(result instanceof Response && result.status).toBe(401);
});

/** Servers that require the scope `a` of an upgrade, and send the subject of its token over the socket. */
const options = { ...offline(), webSocketProtocol: 'bearer' } as const;
const guard = createGuard(options);
const closes: (() => unknown)[] = [];
afterAll(() => Promise.all(closes.map((close) => close())));

const onElysia = (aot: boolean, headers: Record<string, string>) => async () => {
  const app: AnyElysia = new Elysia({ aot })
    .headers(headers)
    .use(resourceServer(options))
    .ws('/events', { scope: 'a', open: (socket) => void socket.send(socket.data.claims.sub ?? '') })
    .listen({ hostname: '127.0.0.1', port: 0 });
  closes.push(() => app.stop(true));
  return app.server?.port ?? 0;
};

const servers: Readonly<Record<string, () => Promise<number>>> = {
  Elysia: onElysia(true, {}),
  'Elysia that sets headers': onElysia(true, { 'x-own': 'a' }),
  'Elysia with aot: false': onElysia(false, {}),
  'Bun.serve': async () => {
    const server = Bun.serve<{ readonly sub: string }>({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request, { upgrade: open }) {
        const auth = await guard.check(request, { scope: 'a' });
        if (auth instanceof Response) return auth;
        open.call(server, request, { data: { sub: auth.claims.sub ?? '' } });
        return undefined;
      },
      websocket: { message() {}, open: (socket) => void socket.send(socket.data.sub) },
    });
    closes.push(() => server.stop(true));
    return server.port ?? 0;
  },
  'Hono on Bun': async () => {
    const app = new Hono().get(
      '/events',
      requireToken(guard, { scope: 'a' }),
      upgradeWebSocket((context) => ({
        onOpen: (_, socket) => socket.send(authOfContext(context).claims.sub ?? ''),
      })),
    );
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch, websocket });
    closes.push(() => server.stop(true));
    return server.port ?? 0;
  },
  'ws on Node.js': async () => {
    const sockets = new WebSocketServer({ noServer: true });
    const server = createServer().on('upgrade', (request, socket: Socket, head) => {
      checkIncoming(guard, request, undefined, { scope: 'a' }).then(
        () => sockets.handleUpgrade(request, socket, head, (open) => open.send(authOf(request).claims.sub ?? '')),
        ({ status }) => socket.end(`HTTP/1.1 ${status} Rejected\r\n\r\n`),
      );
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    closes.push(() => server.close());
    return (server.address() as AddressInfo).port;
  },
};

/** Opens a socket as a browser does, and returns its first message and the subprotocol that the server selected. */
function open(port: number, protocols: string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/events`, protocols);
    socket.onmessage = ({ data }) => {
      resolve(`${data} ${socket.protocol}`);
      socket.close();
    };
    socket.onerror = () => resolve('rejected');
  });
}

for (const [name, listen] of Object.entries(servers))
  test(`${name} selects bearer, and has the claims when the socket opens`, async () => {
    const port = await listen();
    expect(await open(port, ['bearer', token])).toBe('reader bearer');
    expect(await open(port, ['bearer', token, 'other'])).toBe('reader bearer');
    for (const protocols of [
      [],
      ['bearer'],
      [token],
      [token, 'bearer'],
      ['bearer', 'x'],
      ['bearer', tokenOf({ claims: { sub: 'reader', scope: 'b' } })],
    ])
      expect(await open(port, protocols)).toBe('rejected');
  });
