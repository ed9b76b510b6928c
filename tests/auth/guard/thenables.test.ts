// biome-ignore-all lint/suspicious/noThenProperty: thenables are what is tested.
import { describe, expect, spyOn, test } from 'bun:test';
import { runInNewContext } from 'node:vm';
import { Elysia } from 'elysia';
import { type GuardOptions, resourceServer } from '../../../src/auth/elysia.ts';
import { createChecker, offline, tokenOf } from '../../support/checked.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { AUDIENCE, bearer, nowSeconds, SCOPE } from '../../support/mint.ts';
import { isNight } from '../../support/node-versions.ts';
import { bound, makeProof } from '../../support/proof.ts';

type Call = (value?: unknown) => unknown;
const error = new Error('secret');
const fail = () => {
  throw error;
};
const later = () => new Promise((done) => setImmediate(done));

/** What a thenable does when it is asked for its value: it calls back, or does not. */
const behaviours: Readonly<Record<string, (value: unknown, next: Call, reject: Call) => unknown>> = {
  'calls back, and returns nothing': (value, next) => void next(value),
  'calls back, and returns another value': (value, next) => [next(value), true, false],
  'calls back later': (value, next) => void setImmediate(next, value),
  'calls back, then throws': (value, next) => [next(value), fail()],
  'calls back twice': (value, next) => [value, true, false, error].map((each) => next(each)),
  'calls back, then rejects': (value, next, reject) => [next(value), reject(error)],
  'calls back with another': (value, next) => void next({ then: (done: Call) => void done(value) }),
};
const failures: typeof behaviours = {
  rejects: (_, __, reject) => void reject(error),
  'rejects later': (_, __, reject) => void setImmediate(reject, error),
  'rejects, then calls back': (value, next, reject) => [reject(error), next(value)],
  throws: fail,
  'throws later': async () => fail(),
};
const silent = () => {};

const kinds: Readonly<Record<string, (then: (next: Call, reject: Call) => unknown) => unknown>> = {
  'an object': (then) => ({ then }),
  'an object without prototype': (then) => Object.assign(Object.create(null), { then }),
  'a function': (then) => Object.assign(() => {}, { then }),
  'a function behind a proxy': (then) =>
    new Proxy(() => {}, { get: (_, name) => (name === 'then' ? then : undefined) }),
  'an object with a getter': (then) => ({
    get then() {
      return then;
    },
  }),
  'an instance of a class that extends Promise': (then) =>
    new (class extends Promise<unknown> {
      override then(next: unknown, reject: unknown): never {
        return then(next as Call, reject as Call) as never;
      }
    })(() => {}),
  'an object with the prototype of promises': (then) => Object.assign(Object.create(Promise.prototype), { then }),
  'a promise of another realm': (then) =>
    runInNewContext('new Promise(run)', {
      run: (next: Call, reject: Call) => void Promise.resolve(then(next, reject)).catch(reject),
    }),
};

type Outcome = string | number | undefined;
/** A function of the application, what it returns to accept a request and to reject it, and what is then decided. */
interface Hook {
  readonly accepts: unknown;
  readonly rejects: unknown;
  /** For a value that accepts, for one that rejects, for a failure, and for silence, if there is a time limit. */
  readonly outcomes: readonly [Outcome, Outcome, Outcome, Outcome?];
  readonly decide: (call: () => unknown, clock: ReturnType<typeof createFrozenClock>) => Promise<Outcome>;
}

const token = tokenOf();
const optionHook =
  (options: (call: () => never) => Partial<GuardOptions>, credentials: () => string | Headers = () => token) =>
  async (call: () => unknown, clock: ReturnType<typeof createFrozenClock>) =>
    (await createChecker(options(call as () => never), { clock })(credentials())).reason;
const routeHook = (option: string) => async (call: () => unknown) => {
  const app = new Elysia()
    .use(resourceServer(offline()))
    .get('/', () => 'ok', { [option]: call } as object as { scope: string });
  return (await app.handle(new Request('http://localhost/', { headers: bearer(token) }))).status;
};
const withProof = () => {
  const url = 'https://api.example.test/messages';
  const token = tokenOf({ claims: { cnf: bound } });
  return new Headers({ authorization: `DPoP ${token}`, dpop: makeProof({ url, token }) });
};
const active = { active: true, aud: AUDIENCE, exp: nowSeconds() + 300 };
const dpop = { dpop: 'on', publicUrl: 'https://api.example.test' } as const;
const schemaOf = (validate: () => never) => ({ '~standard': { version: 1, vendor: 'test', validate } }) as const;

const hooks: Readonly<Record<string, Hook>> = {
  isRevoked: {
    accepts: false,
    rejects: true,
    outcomes: [undefined, 'token_revoked', 'revocation_unavailable', 'revocation_unavailable'],
    decide: optionHook((isRevoked) => ({ isRevoked })),
  },
  introspect: {
    accepts: active,
    rejects: { ...active, active: false },
    outcomes: [undefined, 'token_inactive', 'introspection_unavailable', 'introspection_unavailable'],
    decide: optionHook(
      (introspect) => ({ introspect }),
      () => 'opaque',
    ),
  },
  markUsed: {
    accepts: true,
    rejects: false,
    outcomes: [undefined, 'proof_replayed', 'replay_unknown', 'replay_unknown'],
    decide: optionHook((markUsed) => ({ ...dpop, replayStore: { markUsed } }), withProof),
  },
  claims: {
    accepts: { value: {} },
    rejects: { issues: [] },
    outcomes: ['claims_unexpected', 'claims_unexpected', 'claims_unexpected', 'claims_unexpected'],
    decide: optionHook((validate) => ({ claims: schemaOf(validate) })),
  },
  onAccepted: {
    accepts: true,
    rejects: false,
    outcomes: [undefined, undefined, undefined, undefined],
    decide: optionHook((onAccepted) => ({ onAccepted })),
  },
  scope: { accepts: SCOPE, rejects: 'other', outcomes: [200, 403, 500], decide: routeHook('scope') },
  authorize: { accepts: true, rejects: false, outcomes: [200, 403, 500], decide: routeHook('authorize') },
};

for (const [name, { accepts, rejects, outcomes, decide }] of Object.entries(hooks))
  describe(`${name} that returns`, () => {
    const [accepted, rejected, failed, exceeded] = outcomes;
    // One function reads all of them: by day, each hook gets one kind, and one hook each kind.
    for (const [kind, create] of Object.entries(kinds).filter(
      ([each]) => isNight || name === 'isRevoked' || each === 'an object',
    ))
      test(`${kind} with a then of every sort`, async () => {
        const warned = spyOn(console, 'warn').mockReturnValue();
        const decided = async (behaviour: (typeof behaviours)[string], value: unknown) => {
          const clock = createFrozenClock();
          const asked = Promise.withResolvers<void>();
          const call = () =>
            create((next, reject) => {
              asked.resolve();
              return behaviour(value, next, reject);
            });
          const outcome = decide(call, clock);
          if (behaviour === silent) {
            await Promise.race([asked.promise, outcome]);
            clock.advance(5000);
          }
          const pending = behaviour === silent && outcomes.length === 3;
          const settled = await (pending ? Promise.race([outcome, later().then(() => 'pending')]) : outcome);
          expect(clock.waiting, 'a timer is left').toBe(0);
          return settled;
        };
        for (const [sort, behaviour] of Object.entries(behaviours)) {
          expect(await decided(behaviour, accepts), `${sort}: accepts`).toBe(accepted);
          expect(await decided(behaviour, rejects), `${sort}: rejects`).toBe(rejected);
        }
        for (const [sort, behaviour] of Object.entries(failures))
          expect(await decided(behaviour, accepts), sort).toBe(failed);
        expect(await decided(silent, accepts), 'never calls back').toBe(outcomes.length === 3 ? 'pending' : exceeded);
        warned.mockRestore();
      });
  });
