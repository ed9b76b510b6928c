import { afterAll, beforeAll } from 'bun:test';
import type { Environment } from './child-process.ts';
import type { Form, Service } from './forms.ts';
import { type Issuer, startIssuer } from './issuer.ts';
import { AUDIENCE, bearer, mintToken, type TokenOverrides } from './mint.ts';

export const PRIVATE = '/api/private';
export const SCOPED = '/api/private-scoped';

/** Listens on a free port of loopback until it is disposed of. */
export const serve = (fetch: (request: Request) => Response | Promise<Response>, tls?: Bun.TLSOptions) =>
  Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch, ...(tls && { tls }) });

/** An executable or an image may have to be built first. */
export const START_TIMEOUT_MS = 600_000;

/** Starts something before the tests of the enclosing describe(), and closes it afterwards. */
export function startedFor<Started>(
  start: () => Promise<Started>,
  close: (started: Started) => Promise<unknown> = async () => {},
): () => Started {
  let started: Started | undefined;
  beforeAll(async () => {
    started = await start();
  }, START_TIMEOUT_MS);
  afterAll(() => started && close(started), START_TIMEOUT_MS);
  return () => {
    if (started === undefined) throw new TypeError('The fixture is there only while tests run');
    return started;
  };
}

interface FixtureOptions {
  /** What the issuer publishes: the key that signs tokens by default. */
  readonly keys?: () => readonly unknown[];
  readonly settings?: Environment;
  /** Prepares the issuer before the service first fetches its keys. */
  readonly prepare?: (issuer: Issuer) => Promise<void> | void;
}

/** A service, the issuer that it trusts, and tokens of that issuer. */
export type Fixture = Awaited<ReturnType<typeof startFixture<Service>>>;

export async function startFixture<Started extends Service>(form: Form<Started>, options: FixtureOptions = {}) {
  const { keys, settings = {}, prepare } = options;
  const issuer = await startIssuer(keys?.());
  await prepare?.(issuer);
  const service = await form.start({ ISSUER: issuer.url, AUDIENCE, ...settings });
  const close = async () => void (await Promise.all([service.close(), issuer.close()]));
  return {
    [Symbol.asyncDispose]: close,
    close,
    service,
    issuer,
    mint: (overrides?: TokenOverrides) => mintToken(issuer.url, overrides),
    get: (path: string, token: string, init: RequestInit = {}) =>
      service.fetch(path, { ...init, headers: { ...bearer(token), ...init.headers } }),
  };
}

/** Starts issuer and service before the tests of the enclosing describe(), and stops them afterwards. */
export function fixtureFor<Started extends Service>(form: Form<Started>, options?: FixtureOptions) {
  const start = () => startFixture(form, options);
  return startedFor(start, ({ close }) => close());
}
