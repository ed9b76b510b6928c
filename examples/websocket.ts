import { Elysia } from 'elysia';
import { optionsFromEnvironment } from 'protected-api';
import { resourceServer } from 'protected-api/elysia';

// A WebSocket behind the guard: the token is checked before the upgrade, and the socket is closed when the token
// expires. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com bun run websocket.ts

/** 24 days: timers do not wait for longer. */
const maxDelayMs = 2 ** 31 - 1;
const timers = new Map<string, ReturnType<typeof setTimeout>>();

new Elysia({
  websocket: {
    // A longer message closes the socket. By default, one may have 16 MiB.
    maxPayloadLength: 64 * 1024,
    // So does a client that sends but never reads: what waits for it is kept in memory.
    backpressureLimit: 1024 * 1024,
    closeOnBackpressureLimit: true,
  },
})
  .use(resourceServer(optionsFromEnvironment(process.env)))
  .ws('/messages', {
    scope: 'read:messages',
    open(socket) {
      const { exp, sub } = socket.data.claims;
      const close = () => socket.close(1008, 'Token is expired');
      timers.set(socket.id, setTimeout(close, Math.min(exp * 1000 - Date.now(), maxDelayMs)));
      socket.send(`Hello ${sub}`);
    },
    message(socket, message) {
      socket.send(message);
    },
    close(socket) {
      clearTimeout(timers.get(socket.id));
      timers.delete(socket.id);
    },
  })
  .listen({ hostname: '127.0.0.1', port: process.env.PORT ?? 3010 }, ({ url }) =>
    console.log(`Listening on ${url.origin}`),
  );
