import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { createGuard, optionsFromEnvironment } from 'protected-api';
import { Auth, type Authentication, Public, RequireToken, tokenGuard } from 'protected-api/nestjs';
import { serveMetadata } from 'protected-api/node';

// NestJS on Express or Fastify. Compile it with `experimentalDecorators`, and start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node nest.js
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

@Controller('health')
@Public()
class Health {
  @Get()
  read() {
    return 'ok';
  }
}

@Controller('messages')
@RequireToken({ scope: 'read:messages' })
class Messages {
  @Get()
  read(@Auth() { claims }: Authentication) {
    return { hello: claims.sub };
  }
}

// Every route needs a token, unless it is public.
@Module({ controllers: [Health, Messages], providers: [{ provide: APP_GUARD, useClass: tokenGuard(guard) }] })
class Application {}

const cors = { exposedHeaders: ['WWW-Authenticate', 'Retry-After'] };
const app = await NestFactory.create(Application, { cors, logger: ['warn', 'error'] });
// If PUBLIC_URL is set, serves the metadata that challenges link to.
app.use(serveMetadata(guard));
await app.listen(Number(process.env.PORT ?? 3010), '127.0.0.1');
console.log(`Listening on ${await app.getUrl()}`);
