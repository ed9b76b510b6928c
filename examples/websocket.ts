import { Elysia } from 'elysia';
import { resourceServer } from 'protected-api';

// A WebSocket behind the guard: the token is judged before the upgrade, and the socket is closed when the token expires.
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com bun run examples/websocket.ts
const { ISSUER = '', AUDIENCE = '', PORT = '3010' } = process.env;

/** 24 days: timers do not wait for longer. */
const maxDelayMs = 2 ** 31 - 1;
const timers = new Map<string, ReturnType<typeof setTimeout>>();

new Elysia()
  .use(resourceServer({ issuer: ISSUER, audience: AUDIENCE }))
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
  .listen({ hostname: '127.0.0.1', port: PORT }, ({ url }) => console.log(`Listening on ${url.origin}`));
