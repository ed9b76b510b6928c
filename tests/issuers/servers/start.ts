import { run } from '../../support/child-process.ts';
import { serve } from '../../support/fixture.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import type { RealServer, Tokens } from './real-server.ts';

/** What a server says once it listens, and what happens to it afterwards. */
export interface Started {
  readonly issuer: string;
  /** Clients whose IDs it has chosen. */
  readonly clients?: Readonly<Record<string, { readonly id: string; readonly secret: string }>>;
  /** Tokens of a server whose clients nobody else can be. */
  readonly tokens?: Readonly<Record<string, string>>;
  /** Where a POST to `/rotate` or `/withdraw` changes its keys as its own API does. */
  readonly control?: string;
  /** Where its administration is, if that is at another port. */
  readonly admin?: string;
  /** Resolves to the next logout token that it sends to its client. */
  readonly logoutToken: () => Promise<string>;
  /**
   * Stops it as a crash does, and starts it with its data at the same URL.
   * @param keys the names of its keys: the first signs, all are published
   */
  readonly restart: (keys?: string) => Promise<Started>;
  readonly close: () => Promise<void>;
}

/** What stays when a server is started again. */
interface Place {
  readonly folder: string;
  readonly receiver: ReturnType<typeof createReceiver>;
  readonly port?: string;
}

/** Listens where a client of back-channel logout does (OpenID Connect Back-Channel Logout 1.0 §2.5). */
function createReceiver() {
  let waiting = Promise.withResolvers<string>();
  const server = serve(async (request) => {
    waiting.resolve(new URLSearchParams(await request.text()).get('logout_token') ?? '');
    return new Response();
  });
  const next = async () => {
    const token = await waiting.promise;
    waiting = Promise.withResolvers();
    return token;
  };
  return { url: server.url.href, next, close: () => server.stop(true) };
}

const createPlace = (): Place => ({ folder: temporaryFolder(), receiver: createReceiver() });

/** Starts a server, and resolves once it listens. */
export async function startServer(
  server: Pick<RealServer, 'command' | 'name'>,
  keys?: string,
  place = createPlace(),
): Promise<Started> {
  const { folder, receiver, port = '0' } = place;
  const environment = { DATA: folder, PORT: port, LOGOUT_URL: receiver.url, ...(keys && { KEYS: keys }) };
  const running = run(await server.command(), environment);
  // On a busy machine, Keycloak takes minutes.
  let hasEnded = false;
  const ended = running.finished.then(({ stderr }) => {
    hasEnded = true;
    throw new Error(`${server.name} has ended: ${stderr}`);
  });
  const listens = async () => {
    while (!hasEnded && !running.stdout().includes('}\n')) await Bun.sleep(100);
  };
  await Promise.race([listens(), ended]);
  ended.catch(() => undefined);
  const said: Pick<Started, 'issuer' | 'clients' | 'tokens' | 'control' | 'admin'> = JSON.parse(running.stdout());
  const stop = async () => {
    running.signal('SIGKILL');
    await running.finished;
  };
  return {
    ...said,
    logoutToken: receiver.next,
    async restart(otherKeys) {
      await stop();
      return startServer(server, otherKeys, { folder, receiver, port: new URL(said.issuer).port });
    },
    async close() {
      await stop();
      await receiver.close();
    },
  };
}

/** A server that runs. A restart replaces what it said. */
export interface Running {
  started: Started;
  readonly tokens: Tokens;
}

/** Starts a server, and gets its tokens. */
export async function start(server: RealServer): Promise<Running> {
  const started = await startServer(server);
  try {
    return { started, tokens: { application: await server.application(started), ...(await server.others(started)) } };
  } catch (error) {
    await started.close();
    throw error;
  }
}
