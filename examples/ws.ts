import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createGuard, optionsFromEnvironment } from 'protected-api';
import { checkIncoming } from 'protected-api/node';
import { WebSocketServer } from 'ws';

// WebSockets on Node.js: the token is checked before the upgrade, and the socket is closed when the token expires.
// Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node ws.ts
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

/** 24 days: timers do not wait for longer. */
const maxDelayMs = 2 ** 31 - 1;
/** A longer message closes the socket. By default, one may have 100 MiB. */
const maxPayload = 64 * 1024;
const sockets = new WebSocketServer({ noServer: true, maxPayload });

async function upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  const auth = await checkIncoming(guard, request, response, { scope: 'read:messages' });
  // If auth is undefined, the guard has already responded. `end` alone would wait for the client to close its side too,
  // for as long as it likes.
  if (!auth) return void socket.destroySoon();
  response.detachSocket(socket);
  const { exp, sub } = auth.claims;
  sockets.handleUpgrade(request, socket, head, (webSocket) => {
    const close = () => webSocket.close(1008, 'Token is expired');
    const timer = setTimeout(close, Math.min(exp * 1000 - Date.now(), maxDelayMs));
    webSocket.on('error', () => webSocket.terminate());
    webSocket.on('close', () => clearTimeout(timer));
    webSocket.on('message', (message) => {
      // Otherwise, what a client sends but never reads is kept in memory.
      if (webSocket.bufferedAmount > 16 * maxPayload) webSocket.terminate();
      else webSocket.send(String(message));
    });
    webSocket.send(`Hello ${sub}`);
  });
}

const server = createServer((_request, response) => response.end('ok'));
server.on('upgrade', (request, socket, head) => {
  // Without this listener, a client that resets its connection ends the process.
  socket.on('error', () => socket.destroy());
  upgrade(request, socket as Socket, head).catch(() => socket.destroy());
});
server.listen(Number(process.env.PORT ?? 3010), '127.0.0.1', () =>
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
