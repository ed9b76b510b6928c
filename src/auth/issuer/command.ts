import { createServer, type IncomingMessage } from 'node:http';
import { parseArgs } from 'node:util';
import { decodeJwt } from 'jose';
import { printable } from '../values/url.ts';
import { createDevelopmentIssuer, type DevelopmentIssuer } from './development-issuer.ts';
import { quote } from './token-commands.ts';
import { json } from './token-endpoint.ts';

const usage = `Usage: protected-api issuer [--port <port>] [--audience <identifier>]
                            [--client <name>[:<scope>[,<scope>]]]...

Starts an issuer for development on this machine, and prints commands that get
tokens, and the settings of an API that accepts them. Keys and secrets are in
memory only.

  --port      port to listen on; defaults to 4010
  --audience  identifier of the API; defaults to https://api.example.com
  --client    a client and the scopes that it is granted; repeat it for several.
              Defaults to reader:read:reports and to visitor, without a scope
`;

/** More than a token request needs, and less than what could fill the memory. */
const maxBodyBytes = 65_536;

/** Runs the issuer until the process ends. A mistake is one line, and exit status 1. */
export async function run(args: readonly string[]): Promise<void> {
  const flags = readFlags(args);
  if (typeof flags === 'string') return fail(flags);
  if (flags.help) return void process.stdout.write(usage);
  const { port, audience, clients } = flags;
  const issuer = attempt(() => createDevelopmentIssuer({ issuer: `http://localhost:${port}/`, audience, clients }));
  if (typeof issuer === 'string') return fail(issuer);

  const server = createServer(async (incoming, outgoing) => {
    const response = await respond(issuer, incoming).catch(() => json(400, { error: 'invalid_request' }));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  server.on('error', (error: NodeJS.ErrnoException) => {
    const isTaken = error.code === 'EADDRINUSE';
    fail(`Cannot listen on port ${port}: ${isTaken ? 'it is taken. Choose another with --port' : error.code}`);
  });
  server.listen(port, '127.0.0.1', () => process.stdout.write(renderStart(issuer)));
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

function attempt<Result>(create: () => Result): Result | string {
  try {
    return create();
  } catch (error) {
    return error instanceof TypeError ? error.message : 'Cannot create an issuer';
  }
}

function readFlags(args: readonly string[]) {
  const read = attempt(() =>
    parseArgs({
      args: [...args],
      options: {
        port: { type: 'string', default: '4010' },
        audience: { type: 'string', default: 'https://api.example.com' },
        client: { type: 'string', multiple: true, default: ['reader:read:reports', 'visitor'] },
        help: { type: 'boolean', short: 'h' },
      },
    }),
  );
  if (typeof read === 'string') return `Cannot read flags: ${read.split('. ')[0]}, see protected-api issuer --help`;
  const { port, audience, client, help } = read.values;
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
    return 'Cannot read flags: --port must be a number from 1 to 65535';
  // It stands in quotes in the commands that are printed.
  if (!/^[\x21-\x26\x28-\x7e]+$/.test(audience))
    return 'Cannot read flags: --audience must be printable ASCII without spaces or quotes';
  const clients = client.map((each) => {
    const [id = '', ...scopes] = each.split(/:(.*)/s, 2);
    return { id, scope: scopes.flatMap((scope) => scope.split(',')) };
  });
  // A scope is printable ASCII without spaces, quotes and backslashes (RFC 6749 §3.3).
  if (!clients.every(({ id, scope }) => /^[\w.-]+$/.test(id) && scope.every((each) => /^[!#-[\]-~]+$/.test(each))))
    return 'Cannot read flags: --client must be a name, or a name and scopes, such as reader:read:reports,read:orders';
  return { port: Number(port), audience, clients, help };
}

/** Responds to a request, and prints a line for each token. */
async function respond(issuer: DevelopmentIssuer, incoming: IncomingMessage): Promise<Response> {
  const { method = '', url = '', headers } = incoming;
  // Request refuses these methods, and no endpoint has another.
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
    if (body.length > maxBodyBytes) throw new TypeError('The body is too large');
  }
  return body;
}

function renderStart({ options, tokenCommands }: DevelopmentIssuer): string {
  const { issuer, audience } = options;
  return `
: Development issuer at ${issuer}
: Keys and secrets are lost when you stop the process with Ctrl+C. Paste this
: into another shell. A leading colon is a no-op there.

${tokenCommands}

: Settings of the API, and the same as options of its guard:
export ISSUER=${quote(issuer)} AUDIENCE=${quote(audience[0])}
: issuer: '${issuer}', audience: '${audience[0]}'

`;
}
