import { createServer, type RequestListener, type Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { listen } from './raw-http.ts';

export interface FetchServer {
  readonly fetch: (request: Request, server: object) => Response | Promise<Response>;
}
/** What an application exports: a fetch server, a listener of Node.js, or an application of Fastify, Koa or NestJS. */
export type Application =
  | FetchServer
  | RequestListener
  | FastifyInstance
  | { callback(): RequestListener }
  | INestApplication<Server>;

async function serverOf(app: Exclude<Application, FetchServer>): Promise<Server> {
  if ('ready' in app) await app.ready();
  if ('getHttpServer' in app) return (await app.init()).getHttpServer();
  return 'ready' in app ? app.server : createServer('callback' in app ? app.callback() : app);
}

/**
 * Sends a request to an application: a function of a request, or a server of Node.js, which gets method, path and
 * headers.
 */
export async function respond(app: Application, request: Request): Promise<Response> {
  if ('fetch' in app) return app.fetch(request, { upgrade: () => false });
  const server = await serverOf(app);
  const url = `http://127.0.0.1:${await listen(server)}${new URL(request.url).pathname}`;
  const { method, headers } = request;
  try {
    return await fetch(url, { method, headers, keepalive: false });
  } finally {
    server.close();
  }
}
