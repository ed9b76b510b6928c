import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { parseArgs } from 'node:util';
import { decodeJwt } from 'jose/jwt/decode';
import { printable } from '../values/ascii.ts';
import { createDevelopmentIssuer, type DevelopmentIssuer } from './development-issuer.ts';
import { shellQuoted } from './token-commands.ts';
import { json } from './token-endpoint.ts';

const usage = `Usage: protected-api issuer [--port <port>] [--audience <identifier>]
                            [--client <name>[:<scope>[,<scope>]]]...
                            [--lifetime <seconds>]

Starts an issuer for development on this machine, and prints commands that get
tokens, and the settings of an API that accepts them. Keys and secrets are in
memory only.

  --port      port to listen on; defaults to 4010
  --audience  identifier of the API; defaults to https://api.example.com
  --client    a client and the scopes that it is granted; repeat it for several.
              Defaults to reader:read:messages and to visitor, without a scope
  --lifetime  how long tokens are valid: 1 to 86400; defaults to 3600
`;

/** More than a token request needs, and less than what could fill the memory. */
const maxFormBytes = 65_536;

/** Runs the issuer until the process ends. */
export async function run(args: readonly string[]): Promise<void> {
  const { port, help, ...options } = readFlags(args);
  if (help) return void process.stdout.write(usage);
  const issuer = createDevelopmentIssuer({ issuer: `http://localhost:${port}/`, ...options });

  // Clients try either for localhost. A machine may have no IPv6.
  await listen(issuer, port, '127.0.0.1', []);
  await listen(issuer, port, '::1', ['EADDRNOTAVAIL', 'EAFNOSUPPORT']);
  process.stdout.write(renderStart(issuer));
}

async function listen(issuer: DevelopmentIssuer, port: number, host: string, tolerated: readonly string[]) {
  const server = createServer(async (incoming, outgoing) => {
    const response = await respondTo(issuer, incoming).catch(() => json(400, { error: 'invalid_request' }));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  server.listen(port, host);
  await once(server, 'listening').catch(({ code = '' }: NodeJS.ErrnoException) => {
    if (tolerated.includes(code)) return;
    const fault = code === 'EADDRINUSE' ? 'it is taken. Choose another with --port' : code;
    throw new TypeError(`Cannot listen on port ${port}: ${fault}`);
  });
}

const issuerFlags = {
  port: { type: 'string', default: '4010' },
  audience: { type: 'string', default: 'https://api.example.com' },
  client: { type: 'string', multiple: true, default: ['reader:read:messages', 'visitor'] as string[] },
  lifetime: { type: 'string', default: '3600' },
  help: { type: 'boolean', short: 'h' },
} as const;

function parseFlags(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: issuerFlags }).values;
  } catch (error) {
    throw wrongFlags(`${(error as Error).message.split('. ')[0]}: see protected-api issuer --help`);
  }
}

const wrongFlags = (fault: string) => new TypeError(`Cannot read flags: ${fault}`);

function readFlags(args: readonly string[]) {
  const { port, audience, client, lifetime, help } = parseFlags(args);
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
    throw wrongFlags('--port must be a number from 1 to 65535');
  if (!/^[1-9]\d{0,4}$/.test(lifetime) || Number(lifetime) > 86_400)
    throw wrongFlags('--lifetime must be a number of seconds from 1 to 86400');
  // It stands in quotes in the commands that are printed.
  if (!/^[\x21-\x26\x28-\x7e]+$/.test(audience))
    throw wrongFlags('--audience must be printable ASCII without spaces or quotes');
  const clients = client.map((each) => {
    const [id = '', ...scopes] = each.split(/:(.*)/s, 2);
    return { id, scope: scopes.flatMap((scope) => scope.split(',')) };
  });
  // A scope is printable ASCII without spaces, quotes and backslashes (RFC 6749 §3.3).
  if (!clients.every(({ id, scope }) => /^[\w.-]+$/.test(id) && scope.every((each) => /^[!#-[\]-~]+$/.test(each))))
    throw wrongFlags('--client must be a name, or a name and scopes, such as reader:read:messages,read:orders');
  return { port: Number(port), audience, clients, lifetimeSeconds: Number(lifetime), help };
}

/** Responds to a request, and prints a line for each token. */
async function respondTo(issuer: DevelopmentIssuer, incoming: IncomingMessage): Promise<Response> {
  const { method = '', url = '', headers } = incoming;
  // Request rejects these methods, and no endpoint has another.
  if (!['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'].includes(method))
    return json(405, { error: 'invalid_request' });
  const request = new Request(new URL(url, issuer.options.issuer).href, {
    method,
    headers: Object.entries(headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((each): [string, string] => [name, each]),
    ),
    ...(method === 'POST' && { body: await readBody(incoming) }),
  });
  const response = await issuer.fetch(request);
  if (method === 'POST' && response.ok) {
    const { access_token: token } = (await response.clone().json()) as { readonly access_token: string };
    const { client_id: client, scope = 'no scope' } = decodeJwt(token);
    process.stdout.write(`Token for ${printable(`${client}: ${scope}`)}\n`);
  }
  return response;
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of incoming.setEncoding('utf8')) {
    body += chunk;
    if (body.length > maxFormBytes) throw new TypeError('The body is too large');
  }
  return body;
}

function renderStart({ options, tokenCommands }: DevelopmentIssuer): string {
  const { issuer, audience } = options;
  return `
: Development issuer at ${issuer}
: Its keys and secrets are lost when it stops: with Ctrl+C, or with kill %1 if
: it runs in the background. Paste this into another terminal, where a leading
: colon is a no-op.

${tokenCommands}

: Settings of the API, and the same as options of its guard:
export ISSUER=${shellQuoted(issuer)} AUDIENCE=${shellQuoted(audience[0])}
: issuer: '${issuer}', audience: '${audience[0]}'

`;
}
