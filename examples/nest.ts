import 'reflect-metadata';
import type { IncomingMessage } from 'node:http';
import { Controller, Get, type MiddlewareConsumer, Module, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NextFunction, Request, Response } from 'express';
import { createGuard, optionsFromEnvironment } from 'protected-api/guard';
import { authOf, requireToken } from 'protected-api/node';

// NestJS on Express. To start it, compile it with `experimentalDecorators`, then:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node nest.js
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

@Controller('health')
class Health {
  @Get()
  read() {
    return 'ok';
  }
}

@Controller('reports')
class Reports {
  @Get()
  read(@Req() request: IncomingMessage) {
    return { hello: authOf(request).claims.sub };
  }
}

@Module({ controllers: [Health, Reports] })
class Application {
  configure(consumer: MiddlewareConsumer) {
    consumer.apply(requireToken(guard, { scope: 'read:reports' })).forRoutes(Reports);
  }
}

const cors = { exposedHeaders: ['WWW-Authenticate', 'Retry-After'] };
const app = await NestFactory.create(Application, { cors, logger: ['warn', 'error'] });
// With PUBLIC_URL, the metadata that the challenges name (RFC 9728).
app.use(async ({ method, originalUrl }: Request, response: Response, next: NextFunction) => {
  const metadata = guard.metadata({ method, url: `http://localhost${originalUrl}`, headers: new Headers() });
  if (metadata === undefined) return next();
  response.writeHead(metadata.status, Object.fromEntries(metadata.headers)).end(await metadata.text());
});
await app.listen(Number(process.env.PORT ?? 3010), '127.0.0.1');
console.log(`Listening on ${await app.getUrl()}`);
