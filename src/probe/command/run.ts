import { fstatSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { type KeyServer, publishPlain } from '../issuer/served-issuer.ts';
import type { ProbeOptions } from '../options/options.ts';
import type { ProbeReport } from '../report/result.ts';
import { plan, runProbe } from '../run/probe.ts';
import { discoverToken, resourceOf } from './fetch-token.ts';
import { type Flags, optionsOfFlags, readFlags } from './flags.ts';
import { serveIssuer, trusting } from './issuer.ts';
import { type Started, startApi } from './start.ts';
import { usage } from './usage.ts';
import { checkFiles, writeReport } from './write.ts';

// Here is the course of the command: flags, a token or an issuer, the run, the report.

/** How long the API may take to trust the issuer. */
const waitMs = 30_000;
/** After which time the issuer publishes its own key only. */
const plainMs = 15_000;
/** The same if it is started here: it may have to be compiled. */
const startMs = 120_000;

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

async function runFlags(flags: Flags): Promise<void> {
  const { values } = flags;
  if (values.help) return void process.stdout.write(usage);
  const { 'serve-issuer': port = values.start && '0', 'client-id': client, 'dry-run': isDry } = values;
  const options = await optionsOfFlags(flags);
  const token = port === undefined && client === undefined ? await readToken() : '';
  if (isDry) {
    const depth = port ? 'issuer' : token || client ? 'token' : 'nothing';
    return void process.stdout.write(`${plan(options, depth).join('\n')}\n`);
  }
  checkFiles(values);
  const credentials = client ? await tokenOfClient(flags, options.headers) : token ? { token } : {};
  const served =
    port === undefined
      ? undefined
      : await serveIssuer({ port, audience: await audienceOf(flags, options.headers), hasTls: values.tls });
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort());
  const whole = { ...options, ...credentials, issuer: served?.issuer, signal: interruption.signal };
  let started: Started | undefined;
  try {
    if (served) {
      started = begin(values.start, served.settings);
      await waitFor(whole, served.server, started);
    }
    const report = await withProgress(whole, served?.server);
    writeReport(report, values);
    process.exitCode = statusOf(report, values);
  } finally {
    await started?.stop();
    await served?.close();
  }
}

/** Returns the audience that is named, or that the metadata of an API name that runs already, or its origin. */
async function audienceOf({ values, positionals }: Flags, headers: ProbeOptions['headers']): Promise<string> {
  const { audience, openapi, start } = values;
  const [url = openapi] = positionals;
  if (url === undefined) throw new TypeError('Cannot read flags: name a URL of the API');
  const named = audience ?? (start === undefined ? await resourceOf(url, headers) : undefined) ?? '';
  // It is printed to be pasted into a shell.
  return audience ?? (/^https?:[\w.~:/?=%+-]+$/.test(named) ? named : new URL(url).origin);
}

function statusOf(
  { failed, warnings, isComplete }: ProbeReport,
  { 'write-known': known, 'fail-on': failOn }: Flags['values'],
) {
  const isFailed = failed.length > 0 || (failOn === 'should' && warnings.length > 0);
  return isFailed && known === undefined ? 1 : isComplete ? 0 : 3;
}

/** Starts the API, or says what it must be set to. */
function begin(command: string | undefined, settings: Settings): Started | undefined {
  if (command !== undefined) return startApi(command, { ...settings, ...trusting(settings) });
  const words = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  process.stderr.write(
    `Issuer at ${settings.ISSUER}. Let the API trust it within ${waitMs / 1000} seconds, with these settings or the like:\n` +
      `${words.join(' ')}\n`,
  );
  return undefined;
}
type Settings = Awaited<ReturnType<typeof serveIssuer>>['settings'];

/** Reads standard input if it is a file or a pipe. More than a megabyte is no token, which has at most 16 KiB. */
async function readToken(): Promise<string> {
  const source = fstatSync(0);
  if (!(source.isFile() || source.isFIFO() || source.isSocket())) return '';
  let input = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    input += chunk;
    if (input.length > 1_000_000) throw new TypeError('Cannot read a token: standard input has more than a megabyte');
  }
  // Windows PowerShell writes files in UTF-16.
  const text = input.replace(/^\ufffd+|[\0\ufeff]/g, '').trim();
  // A CI system may have a pipe that nobody writes to. Otherwise a secret that is missing would pass for a run with a
  // token.
  if (text === '' && (source.isFile() || input !== ''))
    throw new TypeError('Cannot read a token: standard input is blank');
  // A shell that reads its script from standard input leaves the rest of it to its commands.
  if (!/^(?:(?:Bearer|DPoP)\s+)?\S*$/i.test(text))
    throw new TypeError('Cannot read a token: standard input has more than one word');
  return text;
}

/** Waits until the API accepts a token of the issuer: it may have to be started, or to fetch the keys again. */
async function waitFor(
  options: ProbeOptions & { readonly signal: AbortSignal },
  server: KeyServer,
  started: Started | undefined,
): Promise<void> {
  const { signal } = options;
  const begun = Date.now();
  for (const end = begun + (started ? startMs : waitMs); Date.now() < end && !signal.aborted; ) {
    const { isComplete } = await runProbe({ ...options, only: ['control'], known: {} }, server);
    if (isComplete) return;
    const how = started?.ended();
    if (how !== undefined) throw new TypeError(`Cannot probe: the command of --start has ended ${how}`);
    if (Date.now() - begun > plainMs) publishPlain(server);
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
