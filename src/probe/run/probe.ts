import { type Forgery, strangersKey } from '../forge/forge.ts';
import type { Sent } from '../http/network.ts';
import { type Clock, createSender, type Received, type Sender } from '../http/sender.ts';
import type { KeyServer } from '../issuer/served-issuer.ts';
import type { Level, Needs, Row } from '../row/row.ts';
import { printable } from '../values/text.ts';
import { announced, chosenRows, controlInterval, depthOf, idsOf, limits } from './choice.ts';
import { endOfServer } from './harm.ts';
import { withKnown } from './known.ts';
import { operationsOf } from './openapi.ts';
import { type ProbeOptions, type Target, targetsOf } from './options.ts';
import { reportOf } from './report.ts';
import type { ProbedRow, ProbeReport } from './result.ts';
import { control, controlEnd, noToken, type Own, ownRows } from './rows.ts';
import { type Source, sourceOf } from './source.ts';
import { adviceOn, createTrial } from './trial.ts';

// Here is the course of a run: controls, rows, controls. What is sent is in tokens/ and requests/, and how in http/.

const profiles: readonly unknown[] = ['rfc6750', 'rfc9068', 'mcp', 'fapi2', undefined];
/** How often a server that has ended is asked whether it is there again, once a second. */
const restartAttempts = 3;

/**
 * Tries a resource server from outside: with tokens that must be refused, and some that must not, row by row. It needs nothing
 * of the server but a URL. A report without failures is no proof that every route is guarded: name all of them.
 * @example
 * const issuer = await createTestIssuer();
 * const app = createApplication(issuer.options);
 * const targets = [{ url: 'https://api.invalid/reports', scope: 'read:reports' }];
 * const report = await probe({ issuer, fetch: (request) => app.fetch(request), targets });
 * expect(report.failed).toEqual([]);
 * @throws {TypeError} an option is missing, or names a row or a profile that does not exist
 */
export const probe = (options: ProbeOptions): Promise<ProbeReport> => runProbe(options);

/** As above; `server` is where the keys of the test issuer are published, and tests have a clock of their own. */
export async function runProbe(options: ProbeOptions, server?: KeyServer, clock?: Clock): Promise<ProbeReport> {
  const { known = {}, only, skip = [], profile, headers, signal } = options;
  // Requests without a token would have one, and an API would be accused of serving them.
  if (Object.keys(headers ?? {}).some((name) => /^(?:authorization|dpop)$/i.test(name)))
    throw new TypeError('Cannot probe: headers must not have Authorization or DPoP, give the token as the token');
  if (!profiles.includes(profile)) throw new TypeError(`Cannot probe: ${profile} is no profile`);
  for (const name of [...(only ?? []), ...skip, ...Object.keys(known)])
    if (idsOf(name).length === 0 || (name in known && !idsOf(name).includes(name)))
      throw new TypeError(`Cannot probe: no row is called ${name}`);
  const { targets, notTried } = readTargets(options);
  const onReceived = ({ id, method, url }: Sent, { words: _, ...received }: Received) =>
    options.onResponse?.({ row: id, method, url, ...received });
  const limit = Math.max(limits[depthOf(options)], limits.standard);
  const sender = createSender({ fetch: options.fetch, headers, signal, onReceived, clock, limit });
  const chosen = chosenRows(options);
  const source = await sourceOf(options, server?.url);
  const results: ProbedRow[] = [];
  const total = targets.length * (chosen.length + ownRows.length);
  const add: Add = (target, row, verdict, got) => {
    const { id, rule, level, needs, sent, expected, remedy, ownCode } = row;
    const about = { id, target: `${target.method} ${target.url}`, rule, level, needs };
    const probed = { ...about, sent, expected, got, verdict, remedy, ownCode };
    results.push(probed);
    options.onRow?.(probed, total);
  };
  for (const [at, target] of targets.entries()) {
    const trial = await createTrial(target, { source, sender, server, clock, isFirst: at === 0, options });
    await probeTarget({ ...trial, source, sender, results, add: (...row) => add(target, ...row) }, chosen);
  }
  return reportOf(withKnown(results, known), notTried, announced(options, chosen));
}

/** Returns the rows that a run has if this is given, and its limit, without sending anything. */
export function plan(options: ProbeOptions, given: Needs): readonly string[] {
  const { targets, notTried } = readTargets(options);
  const needs: readonly Needs[] = ['nothing', 'token', 'issuer'];
  const chosen = chosenRows(options, given).filter((row) => needs.indexOf(row.needs) <= needs.indexOf(given));
  return [
    announced(options, chosen),
    ...targets.map(({ method, url }) => `Target: ${method} ${url}`),
    ...chosen.map(({ id, sent, requests }) => `${id}, ${requests} ${requests === 1 ? 'request' : 'requests'}: ${sent}`),
    ...notTried,
  ].map((line) => printable(line, 1000));
}

function readTargets({ targets, openapi, baseUrl, methods }: ProbeOptions) {
  const described = openapi ? operationsOf(openapi, baseUrl, methods) : { targets: [], notTried: [] };
  const all = targetsOf([...(targets ?? []), ...described.targets]);
  if (all.length === 0) throw new TypeError('Cannot probe: targets must name at least one URL that requires a token');
  return { targets: all, notTried: described.notTried };
}

const stranger: Forgery = ({ header }) => ({ key: strangersKey(header.alg) });

type Verdicted = readonly [row: Own, verdict: ProbedRow['verdict'], got: string];
type Add = (target: Target, ...row: Verdicted) => void;
interface Run extends Awaited<ReturnType<typeof createTrial>> {
  readonly source: Source;
  readonly sender: Sender;
  readonly results: ProbedRow[];
  readonly add: (...row: Verdicted) => void;
}

async function probeTarget(run: Run, chosen: readonly Row[]): Promise<void> {
  const { results, source, sender, add, begin } = run;
  const { bare, good } = run.trial;
  const skipAll = (why: string) => {
    for (const row of chosen) add(row, 'skipped', why);
  };
  add(noToken, verdicts[bare.outcome], bare.words);
  if (bare.outcome === 'served') return skipAll('The target serves without a token');
  if (bare.outcome === 'unclear') return skipAll('It is unclear whether the target needs a token');
  if (!good) add(control, 'skipped', 'No token was given');
  else if (good.outcome === 'served') add(control, 'passed', good.words);
  else {
    const forged = run.trial.base.key && (await run.trial.send({ token: stranger }));
    const advice = adviceOn(good, source, forged);
    add(control, 'inconclusive', advice);
    return skipAll(`A good token was not accepted: ${advice}`);
  }

  let judged = results.length;
  for (const [at, row] of chosen.entries()) {
    begin(row.id);
    const isOver = await source.renew();
    if (isOver !== undefined) sender.stop(isOver);
    const lost = sender.lost();
    await probeRow(run, row);
    if (sender.lost() > lost && (await hasEnded(run))) {
      replaceLast(results, ended);
      if (!(await isBack(run))) {
        for (const left of chosen.slice(at + 1)) add(left, 'inconclusive', 'Not tried: the server has ended');
        return;
      }
    }
    if (at % controlInterval !== controlInterval - 1 && at !== chosen.length - 1) continue;
    let again = await run.control();
    if (again?.outcome === 'unclear') {
      // A gateway may have lost an instance for a moment.
      await sender.pause(1000);
      again = await run.control();
    }
    if (again && again.outcome !== 'served') {
      doubt(results, judged, again.words);
      add(controlEnd, 'inconclusive', again.words);
      for (const left of chosen.slice(at + 1))
        add(left, 'inconclusive', 'Not tried: the API no longer accepts a good token');
      return;
    }
    judged = results.length;
  }
  if (good) add(controlEnd, 'passed', good.words);
}

/** A connection that a server closes is a refusal. One that it no longer takes is the end of its process. */
const hasEnded = async ({ results, trial }: Run) =>
  results.at(-1)?.verdict === 'inconclusive' && (await trial.send({})).status === 0;
const ended: Partial<ProbedRow> = {
  ...{ verdict: 'failed', level: 'must' },
  got: endOfServer,
  remedy: 'Look into the log of the server for an uncaught exception at this time',
  ownCode: 'Catch it in the request, and refuse the request',
};

function replaceLast(results: ProbedRow[], what: Partial<ProbedRow>): void {
  const last = results.pop();
  if (last) results.push({ ...last, ...what });
}

/** Waits for a supervisor to start the server again. */
async function isBack({ sender, trial }: Run): Promise<boolean> {
  for (let left = restartAttempts; left > 0 && sender.stopped() === undefined; left -= 1) {
    await sender.pause(1000);
    if ((await trial.send({})).status > 0) return true;
  }
  return false;
}

const verdicts = { served: 'failed', refused: 'passed', unclear: 'inconclusive' } as const;

/** What was judged since the last control may be due to an API that fell over. */
function doubt(results: ProbedRow[], from: number, words: string): void {
  for (let at = from; at < results.length; at += 1) {
    const row = results[at];
    if (row && row.verdict !== 'skipped')
      results[at] = { ...row, verdict: 'inconclusive', got: `${row.got}; then a good token: ${words}` };
  }
}

async function probeRow({ trial, sender, add }: Run, row: Row): Promise<void> {
  const level: Level = (trial.profile && row.profiles?.[trial.profile]) ?? row.level;
  const judged = { ...row, level };
  const stopped = sender.stopped();
  const why =
    (row.needs === 'issuer' && !trial.base.key && 'No issuer was given') ||
    (row.needs === 'token' && !trial.good && 'No token was given') ||
    row.skip?.(trial);
  if (why) return add(judged, 'skipped', why);
  if (stopped !== undefined) return add(judged, 'inconclusive', `Not tried: ${stopped}`);
  const { verdict, got } = await row.run(trial);
  add(judged, verdict === 'failed' && level === 'should' ? 'warning' : verdict, got);
}
