import { afterEach, describe, expect, jest, spyOn, test } from 'bun:test';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { protectMcp, requireMcp } from 'protected-api/mcp';
import { bearer } from '../../support/mint.ts';
import { call, guardFor, issuer, message, resource } from './doors.ts';

const day = 86_400;
const first = 'data: first\n\n';

/** A stream that nobody ends, as a handler returns it. */
function openStream(type = 'text/event-stream') {
  let isCancelled = false;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(first)),
    cancel() {
      isCancelled = true;
    },
  });
  return { response: new Response(body, { headers: { 'content-type': type } }), isCancelled: () => isCancelled };
}

interface Opened {
  /** Whether the client has seen the end of the stream. */
  isEnded(): Promise<boolean>;
}

type Guard = ReturnType<typeof guardFor>;
interface Sent {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly message?: object;
}

/** The two doors, without a network, whose timers cannot be frozen. */
const servers: readonly (readonly [name: string, open: (guard: Guard, sent: Sent) => Promise<Opened>])[] = [
  [
    'protectMcp()',
    async (guard, { method, headers, message }) => {
      const { response, isCancelled } = openStream();
      const send = protectMcp(guard, { sessions: true }, () => response);
      const body = message ? JSON.stringify(message) : null;
      const reader = (await send(new Request(resource, { method, headers, body }))).body?.getReader();
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(first);
      let isDone = false;
      void reader?.read().then(({ done }) => {
        isDone = done;
      });
      return {
        async isEnded() {
          await Promise.resolve().then(() => new Promise((done) => setImmediate(done)));
          expect(isCancelled()).toBe(isDone);
          return isDone;
        },
      };
    },
  ],
  [
    'requireMcp()',
    async (guard, { method, headers, message }) => {
      const request = Object.assign(new IncomingMessage(new Socket()), { method, url: '/mcp', headers, body: message });
      request.rawHeaders = Object.entries(headers).flat();
      // Read by the application.
      request.push(null);
      request.resume();
      await new Promise((done) => request.once('end', done));
      const response = new ServerResponse(request);
      await new Promise((accept, reject) => requireMcp(guard, { sessions: true })(request, response, accept ?? reject));
      return {
        async isEnded() {
          // Whoever writes into a response that has ended gets an error, which must not end the process.
          response.write(first);
          await new Promise((done) => setImmediate(done));
          return response.writableEnded;
        },
      };
    },
  ],
];

describe.each(servers)('a stream of %s', (_, open) => {
  afterEach(() => jest.useRealTimers());

  test.each([
    ['GET ends with its token', undefined, 100, {}, 99, 101],
    ['subscriptions/listen ends with its token', message('subscriptions/listen'), 100, {}, 99, 101],
    ['one of a batch ends too', [message('ping'), message('subscriptions/listen')], 100, {}, 99, 101],
    ['a tool is never cut', call('slow'), 100, {}, 101, undefined],
    ['GET ends when the token is no longer accepted', undefined, 100, { clockToleranceSeconds: 30 }, 129, 131],
    ['GET of a token of a month ends after 24 days', undefined, 30 * day, {}, 24 * day, 25 * day],
  ] as const)('%s', async (_, sent, lifetime, options, openAt, endedAt) => {
    const token = await issuer.token({ sub: 'ada', exp: Math.floor(Date.now() / 1000) + lifetime });
    const headers = { ...bearer(token), host: 'localhost', 'content-type': 'application/json' };
    jest.useFakeTimers();
    const begun = open(guardFor(options), { method: sent ? 'POST' : 'GET', headers, ...(sent && { message: sent }) });
    const { isEnded } = await begun;
    jest.advanceTimersByTime(openAt * 1000 - 500);
    expect(await isEnded()).toBe(false);
    if (endedAt !== undefined) jest.advanceTimersByTime((endedAt - openAt) * 1000);
    expect(await isEnded()).toBe(endedAt !== undefined);
  });
});

test('protectMcp() cuts no response to GET but a stream of events, and one that ends by itself once', async () => {
  const headers = bearer(await issuer.token());
  const plain = openStream('application/octet-stream').response;
  const get = () => new Request(resource, { headers });
  expect(await protectMcp(guardFor(), { sessions: true }, () => plain)(get())).toBe(plain);
  const short = new Response(first, { headers: { 'content-type': 'text/event-stream' } });
  expect(await (await protectMcp(guardFor(), { sessions: true }, () => short)(get())).text()).toBe(first);
  const { response, isCancelled } = openStream();
  await (await protectMcp(guardFor(), { sessions: true }, () => response)(get())).body?.cancel();
  expect(isCancelled()).toBe(true);
});

test.each<[how: string, end: (controller: ReadableStreamDefaultController, body: ReadableStream) => unknown]>([
  ['ends', (controller) => controller.close()],
  ['fails', (controller) => controller.error(new Error('A fault of the handler'))],
  ['is cancelled', (_, body) => body.cancel()],
])('a stream of protectMcp() that %s leaves no timer', async (_, end) => {
  const headers = bearer(await issuer.token());
  const cancelled = spyOn(globalThis, 'clearTimeout');
  let controller: ReadableStreamDefaultController | undefined;
  const stream = new ReadableStream({
    start(given) {
      controller = given;
    },
  });
  const response = new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  const { body } = await protectMcp(guardFor(), { sessions: true }, () => response)(new Request(resource, { headers }));
  const before = cancelled.mock.calls.length;
  if (controller && body) end(controller, body);
  await new Promise((done) => setImmediate(done));
  expect(cancelled.mock.calls.length).toBe(before + 1);
  cancelled.mockRestore();
});

test.each<[how: string, end: (controller: ReadableStreamDefaultController, body: ReadableStream) => unknown]>([
  ['fails', (controller) => controller.error(new Error('A fault of the handler'))],
  ['is cancelled', (_, body) => body.cancel()],
])('the answer of a tool that %s is no unhandled rejection, which would end the process', async (_, end) => {
  let controller: ReadableStreamDefaultController | undefined;
  const stream = new ReadableStream({
    start(given) {
      controller = given;
    },
  });
  const response = new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  const init = { method: 'POST', headers: bearer(await issuer.token()), body: JSON.stringify(call('a')) };
  const { body } = await protectMcp(guardFor(), {}, () => response)(new Request(resource, init));
  const unhandled: unknown[] = [];
  const listener = (error: unknown) => void unhandled.push(error);
  process.on('unhandledRejection', listener);
  if (controller && body) end(controller, body);
  await new Promise((done) => setImmediate(done));
  await new Promise((done) => setImmediate(done));
  process.off('unhandledRejection', listener);
  expect(unhandled).toEqual([]);
});
