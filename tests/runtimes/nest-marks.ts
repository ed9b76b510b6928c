// An application of NestJS, with a route for all that can be bound to a class and to its method.
import 'reflect-metadata';
import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  Module,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { createGuard, type Guard, optionsFromEnvironment } from 'protected-api';
import { Auth, type Authentication, Public, RequireToken, tokenGuard } from 'protected-api/nestjs';

/** What a decorator and `@UseGuards()` say at one place. B needs the scope `admin`. */
export interface Bound {
  readonly mark: 'nothing' | 'public' | 'optional';
  readonly guard: 'nothing' | 'A' | 'B';
}
export type Global = Bound['guard'] | 'optional';

export interface Route {
  readonly name: string;
  /** Whether the class says it itself, extends one that does, or overrides the methods of one that does. */
  readonly kind: 'own' | 'inherited' | 'overridden';
  readonly ofClass: Bound;
  readonly ofMethod: Bound;
}

export const globals: readonly Global[] = ['nothing', 'optional', 'A', 'B'];
const all = (['nothing', 'public', 'optional'] as const).flatMap((mark) =>
  (['nothing', 'A', 'B'] as const).map((guard): Bound => ({ mark, guard })),
);
const textOf = ({ mark, guard }: Bound) => `${mark}_${guard}`;
/** For names that GraphQL takes too. */
export const routesOf = (kind: Route['kind']): readonly Route[] =>
  all.flatMap((ofClass) =>
    all.map((ofMethod) => ({ name: `${kind}__${textOf(ofClass)}__${textOf(ofMethod)}`, kind, ofClass, ofMethod })),
  );

type Decorator = ClassDecorator & MethodDecorator;
type Guards = Readonly<Record<'A' | 'B' | 'optional', Type<CanActivate>>>;

function decoratorsFor({ mark, guard }: Bound, guards: Guards): readonly Decorator[] {
  const marks = { nothing: [], public: [Public()], optional: [RequireToken({ optional: true })] };
  return [...marks[mark], ...(guard === 'nothing' ? [] : [UseGuards(guards[guard]) as Decorator])];
}

function applyTo(prototype: object, name: string, decorators: readonly MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
  for (const decorate of decorators) decorate(prototype, name, descriptor);
}

/** Returns a class for the routes of a kind whose class has this. `serve` makes a method one that NestJS calls. */
function classFor(ofClass: Bound, routes: readonly Route[], guards: Guards, serve: (name: string) => MethodDecorator) {
  const own = routes.filter((route) => route.ofClass === ofClass);
  const methods = () => ({
    // What the page of NestJS says of platform-ws.
    handleConnection: (client: object, request: object) => Object.assign(client, { request }),
    ...Object.fromEntries(own.map(({ name }) => [name, (auth?: Authentication) => auth?.claims?.sub ?? 'anonymous'])),
  });
  class Base {}
  class Child extends Base {}
  Object.assign(Base.prototype, methods());
  for (const decorate of decoratorsFor(ofClass, guards)) decorate(Base);
  for (const { name, kind, ofMethod } of own) {
    applyTo(Base.prototype, name, decoratorsFor(ofMethod, guards));
    if (kind === 'overridden')
      Object.assign(Child.prototype, { [name]: Object.entries(methods()).find(([each]) => each === name)?.[1] });
    const serving = kind === 'overridden' ? Child.prototype : Base.prototype;
    Auth({ optional: true })(serving, name, 0);
    applyTo(serving, name, [serve(name)]);
  }
  return routes[0]?.kind === 'own' ? Base : Child;
}

export interface Settings {
  readonly guard: Guard;
  readonly global: Global;
  readonly transport: 'http' | 'graphql' | 'ws';
}

/** Returns the module, with the imports and the decorators that its transport needs. */
export async function moduleFor({ guard, global, transport }: Settings) {
  const guards: Guards = {
    A: tokenGuard(guard),
    B: tokenGuard(guard, { scope: 'admin' }),
    optional: tokenGuard(guard, { optional: true }),
  };
  const { imports, ofClass, serve } = await served[transport]();
  const kinds = transport === 'http' ? (['own', 'inherited', 'overridden'] as const) : (['own'] as const);
  const classes = kinds.flatMap((kind) => all.map((bound) => classFor(bound, routesOf(kind), guards, serve)));
  for (const type of classes) ofClass(type);
  class Application {}
  const bound = global === 'nothing' ? [] : [{ provide: APP_GUARD, useClass: guards[global] }];
  Module({
    imports: [...imports],
    controllers: transport === 'http' ? classes : [],
    providers: [...(transport === 'http' ? [] : classes), ...bound],
  })(Application);
  return Application;
}

/** That of the page of NestJS for platform-ws. */
class RejectionFilter implements ExceptionFilter {
  catch(exception: HttpException, host: ArgumentsHost) {
    host
      .switchToWs()
      .getClient()
      .send(JSON.stringify({ event: 'exception', data: exception.getResponse() }));
  }
}
Catch(HttpException)(RejectionFilter);

interface Served {
  readonly imports: readonly NonNullable<Parameters<typeof Module>[0]['imports']>[number][];
  readonly ofClass: ClassDecorator;
  serve(name: string): MethodDecorator;
}
const packageOf = (name: string) => import(name);
const served: Readonly<Record<Settings['transport'], () => Promise<Served>>> = {
  http: async () => ({ imports: [], ofClass: Controller(), serve: Get }),
  graphql: async () => {
    const { GraphQLModule, Query, Resolver } = await packageOf('@nestjs/graphql');
    const { ApolloDriver } = await packageOf('@nestjs/apollo');
    const imports = [GraphQLModule.forRoot({ driver: ApolloDriver, autoSchemaFile: true })];
    return { imports, ofClass: Resolver(), serve: () => Query(() => String, { nullable: true }) };
  },
  ws: async () => {
    const { SubscribeMessage, WebSocketGateway } = await packageOf('@nestjs/websockets');
    const ofClass: ClassDecorator = (type) => {
      WebSocketGateway()(type);
      UseFilters(new RejectionFilter())(type);
    };
    return { imports: [], ofClass, serve: SubscribeMessage };
  },
};

async function main({ GLOBAL, PLATFORM, PORT, TRANSPORT }: Readonly<Record<string, string | undefined>>) {
  const guard = createGuard(optionsFromEnvironment(process.env));
  const transport = TRANSPORT as Settings['transport'];
  const type = await moduleFor({ guard, global: GLOBAL as Global, transport });
  const adapter = PLATFORM === 'fastify' ? [new (await packageOf('@nestjs/platform-fastify')).FastifyAdapter()] : [];
  const app = await NestFactory.create(type, ...adapter, { logger: ['warn'] });
  if (transport === 'ws') app.useWebSocketAdapter(new (await packageOf('@nestjs/platform-ws')).WsAdapter(app));
  await app.listen(Number(PORT), '127.0.0.1');
  console.log(`Listening on ${await app.getUrl()}`);
}

if (process.env.TRANSPORT !== undefined) await main(process.env);
