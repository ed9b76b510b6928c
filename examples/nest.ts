import 'reflect-metadata';
import { type CanActivate, Controller, Get, HttpException, Module, Req, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type CheckRequirements, createGuard, optionsFromEnvironment, RejectionError } from 'protected-api/guard';
import { authOf, checkIncoming, type IncomingRequest, serveMetadata } from 'protected-api/node';

// NestJS on Express. Compile it with `experimentalDecorators`, and start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node nest.js
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

/** A NestJS guard. Middleware would be bypassed, because NestJS before 11.2 matches its paths differently from those of routes. */
const accessToken = (requirements: CheckRequirements = {}): CanActivate => ({
  async canActivate(context) {
    const http = context.switchToHttp();
    const request = http.getRequest();
    // Fastify wraps the Node.js request.
    try {
      await checkIncoming(guard, request.raw ?? request, undefined, requirements);
      return true;
    } catch (error) {
      if (!(error instanceof RejectionError)) throw error;
      for (const [name, value] of Object.entries(error.headers)) http.getResponse().header(name, value);
      // NestJS sends it, by way of the application's exception filters.
      throw new HttpException(Object(error.body), error.status);
    }
  },
});

@Controller('health')
class Health {
  @Get()
  read() {
    return 'ok';
  }
}

@Controller('reports')
@UseGuards(accessToken({ scope: 'read:reports' }))
class Reports {
  @Get()
  read(@Req() request: IncomingRequest) {
    // On Fastify: authOf(request.raw)
    return { hello: authOf(request).claims.sub };
  }
}

@Module({ controllers: [Health, Reports] })
class Application {}

const cors = { exposedHeaders: ['WWW-Authenticate', 'Retry-After'] };
const app = await NestFactory.create(Application, { cors, logger: ['warn', 'error'] });
// If PUBLIC_URL is set, serves the metadata that challenges link to.
app.use(serveMetadata(guard));
await app.listen(Number(process.env.PORT ?? 3010), '127.0.0.1');
console.log(`Listening on ${await app.getUrl()}`);
