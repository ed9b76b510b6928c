import { fstatSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parseJsonObject } from '../../values/json.ts';
import type { ProbeOptions } from '../options.ts';
import { plan, probe } from '../probe.ts';
import { junitOf, type ProbeReport } from '../report.ts';
import { startServedIssuer } from '../served-issuer.ts';
import { createSender } from '../transport.ts';
import { discoverToken } from './fetch-token.ts';

const usage = `Usage: protected-api probe <url>... [flag]...

Tries an API from outside, with requests that it must refuse and some that it
must accept. Each URL must require a token. The depth depends on what you give:
only the URL, a good token on standard input, or a port for an issuer.

  --scope <scope>        a scope that the URLs require; repeat it for several
  --method <method>      method of the requests; defaults to GET
  --body <text>          body of the requests, a form or JSON
  --openapi <url>        tries each operation of the document that has security

  --serve-issuer <port>  starts an issuer on this port, which the API must trust
  --audience <text>      the API's identifier for that issuer; defaults to the
                         origin of the first URL
  --wait <seconds>       how long the API may take to trust it; defaults to 30
  --client-id <id>       gets a token with the client's secret in CLIENT_SECRET
  --token <kind>=<file>  another token, which must be refused: expired,
                         audience, scope or id

  --profile <name>       rfc6750, rfc9068, mcp or fapi2: what is a must
  --only, --skip <id>    rows to run or to skip, by ID or the beginning of IDs;
                         repeat it for several
  --known <file>         rows that are known to fail: a line with ID and reason
                         for each
  --header <line>        a header of each request, such as 'X-Key: value'
  --intrusive            sends floods and headers over 8 KiB to other machines
  --dry-run              lists what would be sent

  --json                 prints the report as JSON
  --junit <file>         writes the report for CI systems
  --fail-on should       exits with 1 if a should failed, too

Exits with 0 if all is well, 1 if a must failed, 2 for a wrong flag, 3 if the
run is incomplete. Ctrl+C ends it with the report so far. At most 10 requests a
second and 500 in all are sent to hosts other than this machine.
`;

const textFlag = { type: 'string' } as const;
const listFlag = { ...textFlag, multiple: true, default: [] as string[] } as const;
const flag = { type: 'boolean', default: false } as const;
const flagOptions = {
  ...{ scope: listFlag, token: listFlag, only: listFlag, skip: listFlag, header: listFlag },
  ...{ body: textFlag, openapi: textFlag, audience: textFlag, 'serve-issuer': textFlag, 'client-id': textFlag },
  ...{ profile: textFlag, known: textFlag, junit: textFlag, 'fail-on': textFlag },
  ...{ intrusive: flag, 'dry-run': flag, json: flag, help: { ...flag, short: 'h' } },
  ...{ method: { ...textFlag, default: 'GET' }, wait: { ...textFlag, default: '30' } },
} as const;

/** Tries an API. A mistake is one line, and exit status 2. */
export async function run(args: readonly string[]): Promise<void> {
  try {
    await runFlags(readFlags(args));
  } catch (error) {
    // Only our own messages are shown: another one may hold an argument, which may be a token.
    const isOurs = error instanceof TypeError && error.message.startsWith('Cannot ');
    process.stderr.write(`${isOurs ? error.message : 'Cannot probe: an unexpected error'}\n`);
    process.exitCode = 2;
  }
}

function readFlags(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flagOptions, allowPositionals: true });
  } catch {
    // The message of parseArgs would echo an argument, which may be a token.
    throw new TypeError('Cannot read flags: see protected-api probe --help');
  }
}
type Flags = ReturnType<typeof readFlags>;

async function runFlags({ values, positionals }: Flags): Promise<void> {
  if (values.help) return void process.stdout.write(usage);
  const failOn = values['fail-on'];
  if (failOn !== undefined && failOn !== 'should') throw new TypeError('Cannot read flags: --fail-on must be should');
  const options = await optionsOfFlags({ values, positionals });
  const isAlone = values['serve-issuer'] === undefined && values['client-id'] === undefined;
  const token = isAlone ? await readInput() : undefined;
  if (values['dry-run']) {
    const depth = values['serve-issuer'] ? 'issuer' : (token ?? values['client-id']) ? 'token' : 'nothing';
    return void process.stdout.write(`${plan(options, depth).join('\n')}\n`);
  }
  const { issuer, close } = (values['serve-issuer'] && (await serveIssuer(values, positionals))) || {};
  const found = values['client-id'] && (await tokenOfClient(values, positionals, options.headers));
  const whole = { ...options, issuer, token, ...(found || {}) };
  if (issuer) await waitFor(whole, Number(values.wait));
  const report = await runProbe(whole).finally(close);
  write(report, values);
  const isFailed = report.failed.length > 0 || (failOn === 'should' && report.warnings.length > 0);
  process.exitCode = isFailed ? 1 : report.isComplete ? 0 : 3;
}

async function optionsOfFlags({ values, positionals }: Flags): Promise<ProbeOptions> {
  const targets = positionals.map((url) => {
    if (!/^https?:\/\//.test(url)) throw new TypeError('Cannot read flags: a target must be an http or https URL');
    return { url, method: values.method, scope: values.scope, body: values.body };
  });
  const headers = Object.fromEntries(values.header.map(readHeader));
  return {
    ...{ targets, headers, skip: values.skip, only: values.only.length > 0 ? values.only : undefined },
    ...(values.openapi !== undefined && (await readDocument(values.openapi, values.method, headers))),
    profile: values.profile as ProbeOptions['profile'],
    known: values.known === undefined ? undefined : readKnown(values.known),
    intrusive: values.intrusive || undefined,
    tokens: Object.fromEntries(values.token.map(readTokenFile)),
  };
}

/** Starts an issuer, and says what the API must be set to. */
async function serveIssuer(values: Flags['values'], [url = values.openapi ?? '']: readonly string[]) {
  const port = Number(values['serve-issuer']);
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw new TypeError('Cannot read flags: --serve-issuer must be a port');
  const audience = values.audience ?? new URL(url).origin;
  const { issuer, server } = await startServedIssuer({ port, audience }).catch(() => {
    throw new TypeError(`Cannot listen on port ${port}: it is taken. Choose another with --serve-issuer`);
  });
  process.stderr.write(
    `Issuer at ${server.url}. Let the API trust it, with these settings or the like:\n` +
      `ISSUER=${server.url} AUDIENCE=${audience} JWKS_URI=${server.url}.well-known/jwks.json\n`,
  );
  return { issuer, close: server.close };
}

/** Waits until the API accepts a token of the issuer: it may have to be started, or to fetch the keys again. */
async function waitFor(options: ProbeOptions, seconds: number): Promise<void> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await setTimeout(500)) {
    const { isComplete } = await probe({ ...options, only: ['control'], known: {} });
    if (isComplete) return;
  }
}

function tokenOfClient(
  { 'client-id': id = '', scope }: Flags['values'],
  [url]: readonly string[],
  headers: ProbeOptions['headers'],
) {
  const secret = process.env.CLIENT_SECRET;
  if (!secret) throw new TypeError('Cannot get a token: set CLIENT_SECRET to the secret of the client');
  if (url === undefined) throw new TypeError('Cannot get a token: name a URL beside --client-id');
  return discoverToken(url, { id, secret, scope, headers });
}

async function runProbe(options: ProbeOptions): Promise<ProbeReport> {
  const interruption = new AbortController();
  process.once('SIGINT', () => interruption.abort());
  let done = 0;
  const showProgress = process.stderr.isTTY;
  const onRow: ProbeOptions['onRow'] = ({ id }, total) => {
    done += 1;
    if (showProgress) process.stderr.write(`\r\u001b[K${done} of ${total} ${id}`);
  };
  const report = await probe({ ...options, signal: interruption.signal, onRow });
  if (showProgress) process.stderr.write('\r\u001b[K');
  return report;
}

function write(report: ProbeReport, { json, junit }: Flags['values']): void {
  if (junit !== undefined) writeFileSync(junit, junitOf(report));
  const { rows, notTried, isComplete } = report;
  if (json) process.stdout.write(`${JSON.stringify({ rows, notTried, isComplete }, undefined, 2)}\n`);
  else process.stdout.write(report.render(process.stdout.isTTY && !process.env.NO_COLOR, process.stdout.columns));
}

async function readDocument(url: string, method: string, headers: ProbeOptions['headers']) {
  const { status, text } = await createSender({ headers }).send({ id: 'openapi', method: 'GET', url, headers: [] });
  const openapi = parseJsonObject(new TextEncoder().encode(text));
  if (status !== 200 || !openapi) throw new TypeError(`Cannot read an OpenAPI document as JSON: ${status}`);
  return { openapi, baseUrl: url, methods: [method] };
}

/** Reads a token, if standard input is a file or a pipe. */
async function readInput(): Promise<string | undefined> {
  const input = fstatSync(0);
  if (!input.isFile() && !input.isFIFO() && !input.isSocket()) return undefined;
  let read = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    read += chunk;
    if (read.length > 1_000_000) throw new TypeError('Cannot read a token: standard input has more than a megabyte');
  }
  return read.trim() || undefined;
}

function readFile(name: string): string {
  try {
    return readFileSync(name, 'utf8');
  } catch {
    throw new TypeError('Cannot read a file that --known or --token names');
  }
}

/** Each line is an ID and a reason; a line that begins with # is a comment. */
const readKnown = (file: string) =>
  Object.fromEntries(
    readFile(file)
      .split('\n')
      .filter((line) => /^[^#\s]/.test(line))
      .map((line) => {
        const [, id = '', reason = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
        if (reason === '') throw new TypeError('Cannot read known deviations: each line must be an ID and a reason');
        return [id, reason];
      }),
  );

function readHeader(line: string): [string, string] {
  const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined)
    throw new TypeError("Cannot read flags: --header must be 'Name: value'");
  return [name, value];
}

function readTokenFile(given: string): [string, string] {
  const [, kind, file] = /^(expired|audience|scope|id)=(.+)$/.exec(given) ?? [];
  if (kind === undefined || file === undefined)
    throw new TypeError('Cannot read flags: --token must be expired, audience, scope or id, an equals sign and a file');
  return [kind, readFile(file).trim()];
}
