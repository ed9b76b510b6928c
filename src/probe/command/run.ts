import { fstatSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { type KeyServer, startServedIssuer } from '../issuer/served-issuer.ts';
import { summaryOf } from '../run/harm.ts';
import type { ProbeOptions } from '../run/options.ts';
import { plan, runProbe } from '../run/probe.ts';
import { junitOf } from '../run/report.ts';
import type { ProbeReport } from '../run/result.ts';
import { discoverToken } from './fetch-token.ts';
import { type Flags, optionsOfFlags, readFlags, usage } from './flags.ts';

// Here is the course of the command: flags, a token or an issuer, the run, the report.

/** How long the API may take to trust the issuer. */
const waitMs = 30_000;

/** Tries an API. A mistake is one line, and exit status 2. */
export async function runCommand(args: readonly string[]): Promise<void> {
  try {
    await runFlags(readFlags(args));
  } catch (error) {
    // Only our own messages are shown: another one may hold an argument, which may be a token.
    const isOurs = error instanceof TypeError && error.message.startsWith('Cannot ');
    process.stderr.write(`${isOurs ? error.message : 'Cannot probe: an unexpected error'}\n`);
    process.exitCode = 2;
  }
}

async function runFlags({ values, positionals }: Flags): Promise<void> {
  if (values.help) return void process.stdout.write(usage);
  const { 'serve-issuer': port, 'client-id': client, 'dry-run': isDry, 'fail-on': failOn } = values;
  const options = await optionsOfFlags({ values, positionals });
  const token = port === undefined && client === undefined ? await readToken() : '';
  if (isDry) {
    const depth = port ? 'issuer' : token || client ? 'token' : 'nothing';
    return void process.stdout.write(`${plan(options, depth).join('\n')}\n`);
  }
  // Otherwise the run would be for nothing.
  if (values.junit !== undefined) writeTo(values.junit, '');
  const credentials = client ? await tokenOfClient({ values, positionals }, options.headers) : token ? { token } : {};
  const served = port === undefined ? undefined : await serveIssuer(port, { values, positionals });
  const interruption = new AbortController();
  process.once('SIGINT', () => interruption.abort());
  const whole = { ...options, ...credentials, issuer: served?.issuer, signal: interruption.signal };
  try {
    if (served) await waitFor(whole, served.server);
    const report = await withProgress(whole, served?.server);
    write(report, values);
    const isFailed = report.failed.length > 0 || (failOn === 'should' && report.warnings.length > 0);
    process.exitCode = isFailed ? 1 : report.isComplete ? 0 : 3;
  } finally {
    await served?.server.close();
  }
}

/** Reads standard input if it is a file or a pipe. More than a megabyte is no token, which has at most 8 KiB. */
async function readToken(): Promise<string> {
  const source = fstatSync(0);
  if (!(source.isFile() || source.isFIFO() || source.isSocket())) return '';
  let input = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    input += chunk;
    if (input.length > 1_000_000) throw new TypeError('Cannot read a token: standard input has more than a megabyte');
  }
  // A CI system may have a pipe that nobody writes to. Otherwise a secret that is missing would pass for a run with a
  // token.
  if (input.trim() === '' && (source.isFile() || input !== ''))
    throw new TypeError('Cannot read a token: standard input is blank');
  // A shell that reads its script from standard input leaves the rest of it to its commands.
  if (!/^(?:(?:Bearer|DPoP)\s+)?\S*$/i.test(input.trim()))
    throw new TypeError('Cannot read a token: standard input has more than one word');
  return input.trim();
}

/** Starts an issuer, and says what the API must be set to. */
async function serveIssuer(given: string, { values, positionals: [url = values.openapi ?? ''] }: Flags) {
  const port = Number(given);
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw new TypeError('Cannot read flags: --serve-issuer must be a port');
  const audience = values.audience ?? new URL(url).origin;
  const served = await startServedIssuer({ port, audience }).catch(() => {
    throw new TypeError(`Cannot listen on port ${port}: it is taken. Choose another with --serve-issuer`);
  });
  const issuer = served.server.url;
  process.stderr.write(
    `Issuer at ${issuer}. Let the API trust it within ${waitMs / 1000} seconds, with these settings or the like:\n` +
      `ISSUER=${issuer} AUDIENCE=${audience} JWKS_URI=${issuer}.well-known/jwks.json\n`,
  );
  return served;
}

/** Waits until the API accepts a token of the issuer: it may have to be started, or to fetch the keys again. */
async function waitFor(options: ProbeOptions & { readonly signal: AbortSignal }, server: KeyServer): Promise<void> {
  const { signal } = options;
  for (const end = Date.now() + waitMs; Date.now() < end && !signal.aborted; ) {
    const { isComplete } = await runProbe({ ...options, only: ['control'], known: {} }, server);
    if (isComplete) return;
    await setTimeout(500, undefined, { signal }).catch(() => {});
  }
}

function tokenOfClient({ values, positionals: [url] }: Flags, headers: ProbeOptions['headers']) {
  const secret = process.env.CLIENT_SECRET;
  if (!secret) throw new TypeError('Cannot get a token: set CLIENT_SECRET to the secret of the client');
  const { issuer } = values;
  if (url === undefined || issuer === undefined)
    throw new TypeError('Cannot get a token: name a URL of the API, and --issuer beside --client-id');
  return discoverToken(url, { id: values['client-id'] ?? '', secret, scope: values.scope, issuer, headers });
}

/** Runs the probe, and shows how far it is on a terminal. */
async function withProgress(options: ProbeOptions, server: KeyServer | undefined): Promise<ProbeReport> {
  const showProgress = process.stderr.isTTY;
  let done = 0;
  const onRow: ProbeOptions['onRow'] = ({ id }, total) => {
    done += 1;
    if (showProgress) process.stderr.write(`\r\u001b[K${done} of ${total} ${id}`);
  };
  const report = await runProbe({ ...options, onRow }, server);
  if (showProgress) process.stderr.write('\r\u001b[K');
  return report;
}

function writeTo(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch {
    throw new TypeError('Cannot write the file that --junit names');
  }
}

function write(report: ProbeReport, { json, junit }: Flags['values']): void {
  if (junit !== undefined) writeTo(junit, junitOf(report));
  const { rows, notTried, depth, isComplete } = report;
  const summary = summaryOf(report);
  if (json) process.stdout.write(`${JSON.stringify({ summary, depth, isComplete, notTried, rows }, undefined, 2)}\n`);
  else process.stdout.write(report.render(process.stdout.isTTY && !process.env.NO_COLOR, process.stdout.columns));
}
