import { type Environment, until } from './child-process.ts';
import { startedFor } from './fixture.ts';
import type { Form } from './forms.ts';

const PRINTED_CLIENT = /client_id=(?<clientId>[\w.-]+)[^|]*?client_secret=(?<clientSecret>[\w.-]+)/g;
type PrintedClient = Readonly<Record<'clientId' | 'clientSecret', string>>;

/**
 * Returns the data in the printed commands, once they are in the output: a service may respond before it has been read.
 */
export async function readPrinted(output: () => string) {
  await until(() => output().match(PRINTED_CLIENT)?.length === 2, 'the printed commands');
  const banner = output();
  const clients = Array.from(banner.matchAll(PRINTED_CLIENT), ({ groups }) => groups);
  // The first is granted `read:messages`, the second nothing.
  const [reader, visitor] = clients as [PrintedClient, PrintedClient];
  const [, issuer = ''] = /(http\S+\/)oauth\/token/.exec(banner) ?? [];
  const [, audience = ''] = /audience='?([^\s']+)/.exec(banner) ?? [];
  return { issuer, audience, reader, visitor };
}

/** Returns a token of the development issuer at this origin for one of its printed clients. */
export async function requestToken(origin: string, audience: string, { clientId, clientSecret }: PrintedClient) {
  const form = { grant_type: 'client_credentials', audience, client_id: clientId, client_secret: clientSecret };
  const response = await fetch(new URL('/oauth/token', origin), { method: 'POST', body: new URLSearchParams(form) });
  return ((await response.json()) as { readonly access_token: string }).access_token;
}

/** Starts the service as its own issuer before the tests of the enclosing describe(), and ends it after. */
export const developmentFixtureFor = (form: Form, settings: Environment = {}) =>
  startedFor(
    async () => {
      const service = await form.start(settings, ['--dev']);
      return { service, ...(await readPrinted(service.output)) };
    },
    ({ service }) => service.close(),
  );
