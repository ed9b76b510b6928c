import { type Environment, until } from './child-process.ts';
import { startedFor } from './fixture.ts';
import type { Form, Service } from './forms.ts';

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A service that is its own authorization server, and the text that it printed. */
export interface EmbeddedFixture {
  readonly service: Service;
  /** The issuer identifier with a trailing slash. */
  readonly issuer: string;
  readonly audience: string;
  /** Granted `read:messages`. */
  readonly reader: Credentials;
  /** Granted nothing. */
  readonly visitor: Credentials;
}

const PRINTED_CLIENT = /client_id=([\w.-]+)[^|]*?client_secret=([\w.-]+)/g;

/** Returns the data in the printed commands, once they are in the output: a service may answer before it has been read. */
export async function readPrinted(output: () => string): Promise<Omit<EmbeddedFixture, 'service'>> {
  await until(() => output().match(PRINTED_CLIENT)?.length === 2, 'the printed commands');
  const banner = output();
  const [reader, visitor] = [...banner.matchAll(PRINTED_CLIENT)].map(([, clientId = '', clientSecret = '']) => ({
    clientId,
    clientSecret,
  }));
  const audience = /audience=(\S+)/.exec(banner)?.[1];
  const issuer = /(http\S+\/)oauth\/token/.exec(banner)?.[1];
  if (!reader || !visitor || !audience || !issuer)
    throw new Error(`Two clients are not in what was printed: ${banner}`);
  return { reader, visitor, audience, issuer };
}

/** Starts the service as its own issuer before the tests of the enclosing describe(), and ends it after. */
export function embeddedFixtureFor(form: Form, settings: Environment = {}): () => EmbeddedFixture {
  const start = async () => {
    const service = await form.start(settings, ['--dev']);
    return { service, ...(await readPrinted(service.output)) };
  };
  return startedFor(form.startTimeoutMs, start, ({ service }) => service.close());
}
