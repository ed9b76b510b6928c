// An application of NestJS with every kind of call: HTTP, GraphQL, a gateway and messages of a hybrid microservice.
import 'reflect-metadata';
import { ApolloDriver } from '@nestjs/apollo';
import { Catch, Controller, Get, HttpException, Module, Param, UseFilters, UseGuards } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import {
  Field,
  GraphQLModule,
  Mutation,
  ObjectType,
  Query,
  ResolveField,
  Resolver,
  Subscription,
} from '@nestjs/graphql';
import { ClientProxyFactory, MessagePattern, Transport } from '@nestjs/microservices';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { createGuard, optionsFromEnvironment } from 'protected-api';
import { Auth, Public, RequireToken, tokenGuard } from 'protected-api/nestjs';
import { requireToken } from 'protected-api/node';
import { lastValueFrom } from 'rxjs';

const plain = createGuard(optionsFromEnvironment(process.env));
const guard = tokenGuard(plain);

/** Applies decorators to a class and its methods, and to parameters by their position, as the compiler does. */
function decorate(type, decorators, methods) {
  for (const [name, [ofMethod, ...parameters]] of Object.entries(methods)) {
    for (const [at, decorator] of parameters.entries()) decorator?.(type.prototype, name, at);
    const descriptor = Object.getOwnPropertyDescriptor(type.prototype, name);
    for (const decorator of [...ofMethod].reverse())
      Object.defineProperty(type.prototype, name, decorator(type.prototype, name, descriptor) ?? descriptor);
  }
  for (const decorator of [...decorators].reverse()) decorator(type);
  return type;
}

// Without a name, a variable is unset in most runs.
const {
  FIELDS,
  FILTER,
  MERCURIUS,
  PLATFORM,
  PORT = '3010',
  SOCKETS,
  SUBSCRIPTIONS,
  WITHOUT_GUARDED_MESSAGES,
} = process.env;
const handled = [];
const scope = 'read:messages';

class Reports {
  read({ claims }) {
    return { hello: claims.sub };
  }
  handled() {
    return handled;
  }
}
decorate(Reports, [Controller('messages'), RequireToken({ scope })], {
  read: [[Get()], Auth()],
  handled: [[Get('handled'), Public()]],
});

class ReportsResolver {
  reports({ claims }) {
    handled.push('reports');
    return claims.sub;
  }
  health() {
    return 'ok';
  }
  add() {
    handled.push('add');
    return 'ok';
  }
}
decorate(ReportsResolver, [Resolver()], {
  reports: [[Query(() => String, { nullable: true }), RequireToken({ scope })], Auth()],
  health: [[Query(() => String), Public()]],
  add: [[Mutation(() => String), RequireToken({ scope: 'write:messages' })]],
});

class Note {}
decorate(Note, [ObjectType()], {});
Field(() => String)(Note.prototype, 'text');

class NotesResolver {
  note() {
    return { text: 'open' };
  }
  secret() {
    return 'secret';
  }
  async *ticks() {
    yield { ticks: 'tick' };
  }
}
decorate(NotesResolver, [Resolver(() => Note)], {
  note: [[Query(() => Note), Public()]],
  secret: [[ResolveField(() => String, { nullable: true }), RequireToken({ scope: 'admin' })]],
  ticks: [[Subscription(() => String), RequireToken({ scope })]],
});

const messages = { transport: Transport.TCP, options: { host: '127.0.0.1', port: Number(process.env.TCP_PORT) } };
const client = ClientProxyFactory.create(messages);

class Sender {
  send(pattern) {
    const sent = lastValueFrom(client.send(pattern, 1));
    return sent.then(
      (value) => ({ value }),
      (error) => ({ error }),
    );
  }
}
decorate(Sender, [Controller('send'), Public()], { send: [[Get(':pattern')], Param('pattern')] });

class Messages {
  sum(data) {
    handled.push('sum');
    return data;
  }
  open() {
    return 'open';
  }
}
decorate(Messages, [Controller()], { sum: [[MessagePattern('sum')]], open: [[MessagePattern('open'), Public()]] });

/** That of docs/start/nestjs.md. */
class RejectionFilter {
  catch(exception, host) {
    const data = exception.getResponse();
    const client = host.switchToWs().getClient();
    if (SOCKETS === 'ws') client.send(JSON.stringify({ event: 'exception', data }));
    else client.emit('exception', data);
  }
}
decorate(RejectionFilter, [Catch(HttpException)], {});

class Gateway {
  handleConnection(client, request) {
    if (SOCKETS === 'ws') client.request = request;
  }
  afterInit(server) {
    if (process.env.GUARDED_CONNECTIONS) server.engine.use(requireToken(plain));
  }
  say(text, { claims }) {
    handled.push('say');
    return { event: 'said', data: `${claims.sub}: ${text}` };
  }
}
decorate(Gateway, [WebSocketGateway(), UseGuards(guard), ...(FILTER ? [UseFilters(RejectionFilter)] : [])], {
  say: [[SubscribeMessage('say'), RequireToken({ scope })], MessageBody(), Auth()],
});

const driver = MERCURIUS ? (await import('@nestjs/mercurius')).MercuriusDriver : ApolloDriver;
const graphql = {
  driver,
  autoSchemaFile: true,
  ...(FIELDS && { fieldResolverEnhancers: ['guards'] }),
  ...(SUBSCRIPTIONS && (MERCURIUS ? { subscription: true } : { subscriptions: { 'graphql-ws': true } })),
};

class Application {}
decorate(
  Application,
  [
    Module({
      imports: [GraphQLModule.forRoot(graphql)],
      controllers: [Reports, Messages, Sender],
      // Mercurius and a gateway do not share a port.
      providers: [
        ReportsResolver,
        NotesResolver,
        ...(MERCURIUS ? [] : [Gateway]),
        { provide: APP_GUARD, useClass: guard },
      ],
    }),
  ],
  {},
);

const adapter = PLATFORM === 'fastify' && new (await import('@nestjs/platform-fastify')).FastifyAdapter();
const app = await NestFactory.create(Application, ...(adapter ? [adapter] : []), { logger: ['warn'] });
if (SOCKETS === 'ws') app.useWebSocketAdapter(new (await import('@nestjs/platform-ws')).WsAdapter(app));
app.connectMicroservice(messages, { inheritAppConfig: !WITHOUT_GUARDED_MESSAGES });
await app.startAllMicroservices();
await app.listen(Number(PORT), '127.0.0.1');
console.log(`Listening on ${await app.getUrl()}`);
