import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '../values/text.ts';
import { isLoopbackHost } from '../values/url.ts';
import { brakeOf, careful } from './brake.ts';
import { challengesIn } from './challenges.ts';
import {
  bodyTimeoutMs,
  overNetwork,
  type Raw,
  responseTimeoutMs,
  type Sent,
  type Transmit,
  tooLate,
} from './network.ts';

// Here requests are sent: into a function or over the network, and then with care for the servers of others.

/** What came back; the status is 0 if nothing did. */
export interface Received extends Raw {
  /** The response in one line, or why there is none. */
  readonly words: string;
}
export type Handler = (request: Request) => Response | Promise<Response>;

interface SenderOptions {
  readonly fetch?: Handler | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How much of a body is read. It may never end. */
  readonly maxLength?: number;
  /** How many requests a host that is not this machine gets. */
  readonly limit?: number;
  /** Ends the run, and what is under way. */
  readonly signal?: AbortSignal | undefined;
  readonly onReceived?: ((sent: Sent, received: Received) => void) | undefined;
  /** Tests replace the network and the time. */
  readonly network?: Transmit;
  readonly clock?: Clock | undefined;
}

export interface Clock {
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
}
const realTime: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
};
/** The longest time that an API may ask for before the run ends. */
const maxWaitSeconds = 30;

export type Sender = ReturnType<typeof createSender>;

/** Returns a function that sends one request after the other, until `stopped()` says why it does so no longer. */
export function createSender({
  fetch,
  headers = {},
  onReceived,
  limit = careful.requests,
  ...others
}: SenderOptions = {}) {
  const { maxLength = 65_536, signal = new AbortController().signal, network = overNetwork, clock = realTime } = others;
  const transmit = fetch ? intoFunction(fetch, clock) : network;
  const isOther = (url: string) => fetch === undefined && !isLoopbackHost(new URL(url).hostname);
  const brake = brakeOf(limit, signal, isOther);
  const pace = paceOf(clock, signal);
  let lost = 0;

  async function sendOnce(sent: Sent): Promise<Received> {
    const why = brake.before(sent.url);
    if (why !== undefined) return nothing(why);
    if (isOther(sent.url)) await pace();
    const whole = completed(sent, headers);
    const received = await transmit(whole, signal, maxLength).then(withWords, (error: unknown) => {
      const why = error instanceof Error ? error.message || error.name : 'an error';
      if (!fetch && why !== tooLate) lost += 1;
      return nothing(`no response: ${printable(why)}`);
    });
    onReceived?.(sent, received);
    brake.after(sent.url, received.status, sent.isRepeat);
    return received;
  }

  return {
    stopped: brake.why,
    stop: brake.stop,
    pause: (ms: number) => clock.sleep(ms, signal),
    /** How many connections were refused, or ended before a response. */
    lost: () => lost,
    async send(sent: Sent): Promise<Received> {
      const received = await sendOnce(sent);
      const seconds = retrySeconds(received, clock.now(), isOther(sent.url));
      if (seconds === undefined) return received;
      if (seconds > maxWaitSeconds) {
        brake.stop(`The API asks to wait for ${Math.ceil(seconds)} seconds`);
        return received;
      }
      await clock.sleep(seconds * 1000, signal);
      return sendOnce(sent);
    },
  };
}

/** Adds the headers of every request, and those that say what sends it, and what it sends. */
function completed(sent: Sent, headers: Readonly<Record<string, string>>): Sent {
  const isNamed = sent.headers.some(([name]) => name === 'User-Agent');
  const agent = isNamed ? [] : [['User-Agent', `protected-api-probe (row ${sent.id})`]];
  const all = [...agent, ...Object.entries(headers), ...sent.headers];
  const isTyped = sent.body === undefined || all.some(([name]) => name?.toLowerCase() === 'content-type');
  const type = /^\s*[{[]/.test(sent.body ?? '') ? 'application/json' : 'application/x-www-form-urlencoded';
  return { ...sent, headers: [...all, ...(isTyped ? [] : [['Content-Type', type]])] as Sent['headers'] };
}

/** Returns a function that waits until the next request to others may be sent. */
function paceOf({ now, sleep: wait }: Clock, signal: AbortSignal): () => Promise<void> {
  let nextAt = 0;
  return async () => {
    // The clock of the machine may be set back.
    const waitMs = Math.min(nextAt - now(), careful.intervalMs);
    if (waitMs > 0) await wait(waitMs, signal);
    nextAt = now() + careful.intervalMs;
  };
}

/** Returns after how long a request is worth another attempt. Retry-After may have a date (RFC 9110 §10.2.3). */
function retrySeconds({ status, headers }: Received, nowMs: number, isOther: boolean): number | undefined {
  if (!(status === 429 || (status === 503 && isOther))) return undefined;
  const value = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(value)) return Number(value);
  // A date begins with the name of a day; `-1` is one for Date.parse, too.
  const seconds = /^[a-z]/i.test(value) ? (Date.parse(value) - nowMs) / 1000 : Number.NaN;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

const nothing = (words: string): Received => ({ status: 0, headers: new Headers(), text: '', words });

function withWords(raw: Raw): Received {
  const { status, headers } = raw;
  const challenges = challengesIn(headers.get('www-authenticate')) ?? [];
  // An error code helps; anything else could be a secret.
  const named = challenges.map(({ scheme, parameters }) => {
    const error = parameters.find(([name, value]) => name === 'error' && /^\w{1,50}$/.test(value))?.[1];
    return error === undefined ? scheme : `${scheme} error="${error}"`;
  });
  return { ...raw, words: printable([status, named.join(', ')].join(' ').trim()) };
}

/** Calls the application. What comes in time counts, even if the body never ends. */
const intoFunction =
  (fetch: Handler, clock: Clock): Transmit =>
  async ({ method, url, headers, body, bodyMs }, signal, maxLength) => {
    const given = new Headers();
    // A value that no header can have is not sent.
    for (const [name, value] of headers) given.append(name, value);
    const request = new Request(url, { method, headers: given, body: body ?? null });
    const response = await inTime(responseTimeoutMs, Promise.resolve(fetch(request)));
    if (!response) throw new Error(tooLate);
    let text = '';
    const read = async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) {
        text += decoder.decode(chunk, { stream: true });
        if (text.length > maxLength) return false;
      }
      return true;
    };
    const whole = read().catch(() => false);
    const late = async () => void (await clock.sleep(bodyMs ?? 0, signal));
    const isEnded = await (bodyMs === undefined ? inTime(bodyTimeoutMs, whole) : Promise.race([whole, late()]));
    return { status: response.status, headers: response.headers, text, isEnded: isEnded === true };
  };

/** Resolves to undefined after a time. */
async function inTime<Value>(ms: number, value: Promise<Value>): Promise<Value | undefined> {
  const ended = new AbortController();
  const late = sleep(ms, undefined, { signal: ended.signal }).catch(() => undefined);
  return Promise.race([value, late]).finally(() => ended.abort());
}
