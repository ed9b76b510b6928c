// What an application of NestJS does if the class of a guard is bound by mistake, and if it is bound well.
import 'reflect-metadata';
import { Controller, Get, Module, type Type, UseGuards } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { createGuard, type Guard } from 'protected-api';
import { tokenGuard } from 'protected-api/nestjs';
import { createTestIssuer } from 'protected-api/testing';

const GUARD = Symbol('guard');
const issuer = await createTestIssuer();
const guard = createGuard(issuer.options);
const token = await issuer.token();

interface Binding {
  readonly providers?: NonNullable<Parameters<typeof Module>[0]['providers']>;
  readonly globals?: readonly object[];
  /** The guard of the route in another module. */
  readonly named?: Type;
  readonly paths?: readonly string[];
}
/** Returns how a guard is bound: by its class, of which NestJS also creates an instance if a route names it. */
type Bind = (given: { readonly ReaderGuard: Type; readonly named?: Type }) => Binding;

const mistakes: Readonly<Record<string, Bind>> = {
  useValue: ({ ReaderGuard, ...named }) => ({
    providers: [{ provide: APP_GUARD, useValue: ReaderGuard }],
    ...named,
  }),
  'a factory that returns the class': ({ ReaderGuard, ...named }) => ({
    providers: [{ provide: APP_GUARD, useFactory: async () => ReaderGuard }],
    ...named,
  }),
  'useGlobalGuards() without new': ({ ReaderGuard, ...named }) => ({ globals: [ReaderGuard], ...named }),
};

const provided = { provide: GUARD, useValue: guard };
const forEachRequest = { provide: GUARD, useFactory: () => guard, scope: 2 };
const closed: Readonly<Record<string, () => Binding>> = {
  'a factory that calls tokenGuard()': () => ({
    providers: [provided, { provide: APP_GUARD, useFactory: (given: Guard) => tokenGuard(given), inject: [GUARD] }],
  }),
  'a factory for each request': () => ({
    providers: [{ provide: APP_GUARD, useFactory: () => tokenGuard(guard), scope: 2 }],
  }),
  'new without injection': () => ({ providers: [provided], globals: [new (tokenGuard(GUARD))()] }),
  'a token of no provider': () => ({ providers: [{ provide: APP_GUARD, useClass: tokenGuard(GUARD) }] }),
  'a token of something else': () => ({
    providers: [
      { provide: GUARD, useValue: issuer.options },
      { provide: APP_GUARD, useClass: tokenGuard(GUARD) },
    ],
  }),
  'a token of a provider for each request, and a guard for all': () => ({
    providers: [forEachRequest, { provide: APP_GUARD, useClass: tokenGuard(GUARD) }],
  }),
  'a token of nothing': () => ({
    providers: [
      { provide: GUARD, useValue: undefined },
      { provide: APP_GUARD, useClass: tokenGuard(GUARD) },
    ],
  }),
};

const good: Readonly<Record<string, () => Binding>> = {
  useClass: () => ({ providers: [{ provide: APP_GUARD, useClass: tokenGuard(guard) }] }),
  'useClass with a token': () => ({ providers: [provided, { provide: APP_GUARD, useClass: tokenGuard(GUARD) }] }),
  'useClass with a token of a provider for each request': () => ({
    providers: [forEachRequest, { provide: APP_GUARD, useClass: tokenGuard(GUARD), scope: 2 }],
  }),
  useExisting: () => {
    const ReaderGuard = tokenGuard(guard);
    return { providers: [ReaderGuard, { provide: APP_GUARD, useExisting: ReaderGuard }] };
  },
  'a factory that creates an instance': () => ({
    providers: [{ provide: APP_GUARD, useFactory: () => new (tokenGuard(guard))() }],
  }),
  'useGlobalGuards(new …)': () => ({ globals: [new (tokenGuard(guard))()] }),
  'useGlobalGuards(new …), of a class that a route names too': () => {
    const ReaderGuard = tokenGuard(guard);
    return { globals: [new ReaderGuard()], named: ReaderGuard };
  },
  'a class that extends it': () => ({ providers: [provided, { provide: APP_GUARD, useClass: extended() }] }),
};
/** A class with a constructor of its own, to which NestJS injects nothing of ours. */
function extended(): Type {
  return class ReaderGuard extends tokenGuard(GUARD) {
    readonly own: string;
    constructor() {
      super();
      this.own = 'own';
    }
  };
}

/** Returns an application of two modules, each with a route. */
function applicationOf({ providers = [], named }: Binding): Type {
  const moduleWith = (path: string, guards: readonly Type[]): Type => {
    class Routes {
      read() {
        return 'handled';
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, 'read') ?? {};
    Get(path)(Routes.prototype, 'read', descriptor);
    if (guards.length > 0) UseGuards(...guards)(Routes.prototype, 'read', descriptor);
    Controller()(Routes);
    class Part {}
    Module({ controllers: [Routes], providers: named && !guards.length ? [] : [...providers] })(Part);
    return Part;
  };
  class Application {}
  Module({ imports: [moduleWith('named', named ? [named] : []), moduleWith('plain', [])].slice(named ? 0 : 1) })(
    Application,
  );
  return Application;
}

/** Returns the statuses of the routes for a stranger and for a token, or that the application does not start. */
async function outcomeOf(binding: Binding, platform: string): Promise<string> {
  const adapter =
    platform === 'fastify' ? [new (await import('@nestjs/platform-fastify' as string)).FastifyAdapter()] : [];
  const app = await NestFactory.create(applicationOf(binding), ...adapter, {
    logger: false,
    abortOnError: false,
  }).catch(() => undefined);
  if (app === undefined) return 'does not start';
  try {
    app.useGlobalGuards(...((binding.globals ?? []) as never[]));
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const get = async (path: string, headers: Record<string, string>) =>
      (await fetch(`${url}/${path}`, { headers: { ...headers, connection: 'close' } })).status;
    const { paths = binding.named ? ['plain', 'named'] : ['plain'] } = binding;
    const statuses = paths.flatMap((path) => [get(path, {}), get(path, { authorization: `Bearer ${token}` })]);
    return (await Promise.all(statuses)).join(' ');
  } catch {
    return 'does not start';
  } finally {
    await app.close();
  }
}

const nameless = (): Binding => ({ named: [class extends tokenGuard(guard) {}][0] as Type, paths: ['named'] });

/** Returns the statuses of an application whose guard a test replaces by one that accepts everything. */
async function replaced(binding: Binding, ReaderGuard: Type, by: 'overrideGuard' | 'overrideProvider') {
  const { Test } = await import('@nestjs/testing' as string);
  const other = { canActivate: () => true };
  const builder = Test.createTestingModule({ imports: [applicationOf(binding)] })[by](ReaderGuard);
  const app = (await builder.useValue(other).compile()).createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
  const path = binding.named ? 'named' : 'plain';
  const { status } = await fetch(`${await app.getUrl()}/${path}`, { headers: { connection: 'close' } });
  await app.close();
  return status as number;
}

/** Returns the statuses of what docs/start/nestjs.md says of tests, which each begin without a token. */
export async function replacements(): Promise<readonly number[]> {
  const [named, global] = [tokenGuard(guard), tokenGuard(guard)];
  const providers = [global, { provide: APP_GUARD, useExisting: global }];
  return [await replaced({ named }, named, 'overrideGuard'), await replaced({ providers }, global, 'overrideProvider')];
}

/** Returns the outcome of each row, first those of mistakes. */
export async function outcomes(platform: string): Promise<readonly (readonly [isGood: boolean, string, string])[]> {
  const found: [boolean, string, string][] = [];
  for (const [name, bind] of Object.entries(mistakes)) {
    const ReaderGuard = tokenGuard(guard);
    const alone = await outcomeOf(bind({ ReaderGuard: tokenGuard(guard) }), platform);
    const beside = await outcomeOf(bind({ ReaderGuard, named: ReaderGuard }), platform);
    found.push([false, name, alone], [false, `${name}, of a class that a route names too`, beside]);
  }
  for (const [name, bind] of Object.entries({ ...closed, '@UseGuards() with a class without a name': nameless }))
    found.push([false, name, await outcomeOf(bind(), platform)]);
  for (const [name, bind] of Object.entries(good)) found.push([true, name, await outcomeOf(bind(), platform)]);
  return found;
}

const { PLATFORM } = process.env;
if (PLATFORM !== undefined)
  console.log(JSON.stringify([await outcomes(PLATFORM), PLATFORM === 'express' ? await replacements() : [200, 200]]));
