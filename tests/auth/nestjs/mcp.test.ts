import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  All,
  Body,
  Controller,
  Get,
  type INestApplication,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  Req,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type McpAuthInfo, requireMcp } from 'protected-api/mcp';
import { authOf, type IncomingRequest } from 'protected-api/node';
import { bearer } from '../../support/mint.ts';
import { call, guardFor, issuer, message } from '../mcp/doors.ts';

@Controller('api')
class Server {
  @All('mcp')
  respond(@Body() { method }: { readonly method: string }, @Req() request: IncomingRequest & { auth: McpAuthInfo }) {
    return { method, sub: authOf(request).claims.sub, scopes: request.auth.scopes };
  }

  @All('mcp/*path')
  below() {
    return 'reached';
  }

  @Get('health')
  health() {
    return 'healthy';
  }
}

const resource = 'http://localhost:3010/api/mcp';
const protect = requireMcp(guardFor({ resource }), { scope: 'read', tools: { add: 'write' } });
const metadata = '.well-known/oauth-protected-resource/api/mcp';

@Module({ controllers: [Server] })
class Plain {}

@Module({ controllers: [Server] })
class WithConsumer implements NestModule {
  configure(consumer: MiddlewareConsumer) {
    consumer.apply(protect).forRoutes('api/mcp', 'api/mcp/*path', metadata);
  }
}

/** How an application of NestJS uses middleware. Its parser of bodies comes after `app.use`, and before a consumer. */
const ways: readonly (readonly [name: string, create: () => Promise<INestApplication>])[] = [
  ['app.use()', async () => (await NestFactory.create(Plain, { logger: false })).use(protect)],
  [
    'app.use() without a parser',
    async () => (await NestFactory.create(Plain, { logger: false, bodyParser: false })).use(protect),
  ],
  ['configure(consumer)', async () => NestFactory.create(WithConsumer, { logger: false })],
];

describe.each(ways)('requireMcp() by %s in front of a controller of NestJS', (_, create) => {
  let app: INestApplication | undefined;
  let url = '';
  beforeAll(async () => {
    app = await create();
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });
  afterAll(() => app?.close());

  const reader = issuer.token({ sub: 'ada', scope: 'read' });
  test.each([
    ['a message', '/api/mcp', message('ping'), true, 200, '{"method":"ping","sub":"ada","scopes":["read"]}'],
    ['a message without a token', '/api/mcp', message('ping'), false, 401, ''],
    ['a path of the router that is written otherwise', '/API/mcp/', message('ping'), false, 401, ''],
    ['a tool without its scope', '/api/mcp', call('add'), true, 403, 'insufficient_scope'],
    ['no JSON', '/api/mcp', '{', true, 400, ''],
    ['a path below', '/api/mcp/x', message('ping'), true, 404, ''],
    ['a path below without a token', '/api/mcp/x', message('ping'), false, 401, ''],
    ['another path', '/api/health', undefined, false, 200, 'healthy'],
    ['the metadata', `/${metadata}`, undefined, false, 200, '"scopes_supported":["read","write"]'],
  ])('responds to %s', async (_, path, body, hasToken, status, part) => {
    const headers = { 'content-type': 'application/json', host: 'localhost', ...(hasToken && bearer(await reader)) };
    const sent = body && { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) };
    const response = await fetch(url + path, { headers, keepalive: false, ...sent });
    const text = await response.text();
    const isReached = part === 'reached';
    expect([response.status, text, text.includes('reached')]).toEqual([
      status,
      expect.stringContaining(part),
      isReached,
    ]);
  });
});
