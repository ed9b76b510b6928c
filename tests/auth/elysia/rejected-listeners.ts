import { type AnyElysia, Elysia } from 'elysia';
import { guard, request, token } from './guarded.ts';

/*
 * Rejects requests to applications whose listeners of `trace` read `claims`, and prints the names of those that would have ended the
 * process, as a JSON list. A process of its own, because a test runner catches such exceptions itself.
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

for (const aot of [true, false])
  for (const [place, create] of Object.entries(places))
    for (const [form, listener] of Object.entries(listeners))
      for (const event of events) {
        const app = create(aot, (traced) =>
          traced.trace((lifecycle) => {
            const { context } = lifecycle as unknown as {
              readonly context: { readonly claims: { readonly sub: string } };
            };
            return listener(lifecycle as unknown as Event, `on${event}`, () => context.claims.sub);
          }),
        );
        for (const headers of [{}, token({ scope: 'b' })]) {
          current = `${form} of ${event}, ${place}, aot ${aot}, ${Object.keys(headers).length > 0 ? 403 : 401}`;
          try {
            await app.handle(request('/a', { headers }));
          } catch {
            // The first event is before the guard: without one, a synchronous exception is a 500 too.
            if (event !== 'Request') failed.push(current);
          }
          for (let turn = 0; turn < 3; turn++) await new Promise((done) => setImmediate(done));
        }
      }
console.log(JSON.stringify(failed));
process.exit();
