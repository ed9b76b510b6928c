import { type AnyElysia, Elysia } from 'elysia';
import { isNight } from '../../support/node-versions.ts';
import { originalTrace } from './elysia-trace.ts';
import { guard, request, token } from './guarded.ts';

/*
 * Rejects requests to applications whose listeners of `trace` and hooks after a response read `claims`, and prints the
 * names of those that would have ended the process, as a JSON list. A process of its own, because a test runner catches
 * such exceptions itself.
 */

type Subscribe = (call?: (event: Event) => unknown) => Promise<Event>;
type Event = Readonly<Record<string, Subscribe>>;
type Listener = (lifecycle: Event, on: string, fail: () => unknown) => unknown;

const events = 'Request Parse Transform BeforeHandle Handle AfterHandle MapResponse AfterResponse Error'.split(' ');

const listeners: Readonly<Record<string, Listener>> = {
  callback: (lifecycle, on, fail) => void lifecycle[on]?.(() => fail()),
  'asynchronous callback': (lifecycle, on, fail) => void lifecycle[on]?.(async () => fail()),
  'callback at the end': (lifecycle, on, fail) => void lifecycle[on]?.(({ onStop }) => void onStop?.(() => fail())),
  'asynchronous callback at the end': (lifecycle, on, fail) =>
    void lifecycle[on]?.(({ onStop }) => void onStop?.(async () => fail())),
  'callback of each hook': (lifecycle, on, fail) =>
    void lifecycle[on]?.(({ onEvent }) => void onEvent?.(({ onStop }) => void onStop?.(async () => fail()))),
  'promise of the event': async (lifecycle, on, fail) => {
    await lifecycle[on]?.();
    fail();
  },
  'promise of the end': async (lifecycle, on, fail) => {
    await (await lifecycle[on]?.())?.onStop?.();
    fail();
  },
  'callback behind a promise': async (lifecycle, on, fail) => {
    void (await lifecycle[on]?.())?.onStop?.(async () => fail());
  },
};

/** Query builders return what is no promise, and fails once somebody waits for it. */
const hooks: Readonly<Record<string, (fail: () => unknown) => void>> = {
  exception: (fail) => fail(),
  promise: async (fail) => fail(),
  thenable: (fail) => ({
    // biome-ignore lint/suspicious/noThenProperty: the subject
    then(_: unknown, reject: (error: unknown) => void) {
      try {
        fail();
      } catch (error) {
        reject(error);
      }
    },
  }),
};

const places: Readonly<Record<string, (aot: boolean, listen: (app: AnyElysia) => AnyElysia) => AnyElysia>> = {
  'before the guard': (aot, listen) => serve(listen(new Elysia({ aot })).use(guard())),
  'after the guard': (aot, listen) => serve(listen(new Elysia({ aot }).use(guard()))),
  'in a global plugin': (aot, listen) => serve(new Elysia({ aot }).use(listen(new Elysia()).as('global')).use(guard())),
  'beside the guard in an instance': (aot, listen) =>
    new Elysia({ aot }).use(serve(listen(new Elysia({ aot }).use(guard())))),
};
const serve = (app: AnyElysia) => app.get('/a', () => 'served', { scope: 'a' });

const failed: string[] = [];
let current = '';
process.on('uncaughtException', () => failed.push(current));
process.on('unhandledRejection', () => failed.push(current));

async function reject(app: AnyElysia, name: string, mayThrow = false) {
  for (const headers of [{}, token({ scope: 'b' })]) {
    current = `${name}, ${Object.keys(headers).length > 0 ? 403 : 401}`;
    try {
      await app.handle(request('/a', { headers }));
    } catch {
      if (!mayThrow) failed.push(current);
    }
    for (let turn = 0; turn < 3; turn++) await new Promise((done) => setImmediate(done));
  }
}

interface Claimed {
  readonly claims: { readonly sub: string };
}

let compositions = 0;
/** By day, every fifth: each listener, event and place, and each pair of them. */
const isTried = () => isNight || compositions++ % 5 === 0;
for (const aot of [true, false])
  for (const [place, create] of Object.entries(places)) {
    for (const [form, hook] of Object.entries(hooks)) {
      const app = create(aot, (observed) =>
        observed.onAfterResponse((context) => hook(() => (context as unknown as Claimed).claims.sub)),
      );
      await reject(app, `${form} after the response, ${place}, aot ${aot}`);
    }
    for (const [form, listener] of Object.entries(listeners))
      for (const event of events) {
        for (const trace of [originalTrace, Elysia.prototype.trace]) {
          if (!isTried()) continue;
          const app = create(aot, (traced) =>
            trace.call(traced, { as: 'local' }, (lifecycle) => {
              const { context } = lifecycle as unknown as { readonly context: Claimed };
              return listener(lifecycle as unknown as Event, `on${event}`, () => context.claims.sub);
            }),
          );
          // The first event is before the guard: without one, an exception is a 500 too.
          await reject(app, `${form} of ${event}, ${place}, aot ${aot}`, event === 'Request');
        }
      }
  }
console.log(JSON.stringify(failed));
process.exit();
