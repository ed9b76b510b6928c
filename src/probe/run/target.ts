import { settingOf } from '../advice/advice.ts';
import { type Forgery, strangersKey } from '../forge/forge.ts';
import type { Sender } from '../http/sender.ts';
import type { Target } from '../options/options.ts';
import { endOfServer, isLetIn, notRecovered } from '../report/harm.ts';
import type { ProbedRow } from '../report/result.ts';
import type { Level } from '../row/description.ts';
import { control, controlEnd, noResponse, noToken, type Own } from '../row/own-rows.ts';
import type { Answer, Row } from '../row/row.ts';
import { controlInterval } from './choice.ts';
import type { Source } from './source.ts';
import { adviceOn, type createTrial } from './trial.ts';

// Here is the course of a target: controls, rows, controls. What is sent is in tokens/ and requests/, and how in http/.

/** How often a server that has ended is asked whether it is there again, once a second. */
const restartAttempts = 3;
const stranger: Forgery = ({ header }) => ({ key: strangersKey(header.alg) });
const verdicts = { served: 'failed', rejected: 'passed', unclear: 'inconclusive' } as const;

interface Run extends Awaited<ReturnType<typeof createTrial>> {
  readonly target: Target;
  readonly source: Source;
  readonly stack: string | undefined;
  readonly sender: Sender;
  readonly results: ProbedRow[];
  readonly add: (row: ProbedRow) => void;
}

/** Tries rows on a target, unless its controls say that none can be judged. */
export async function probeTarget(run: Run, chosen: readonly Row[]): Promise<void> {
  const { bare, good } = run.trial;
  add(run, noToken, verdicts[bare.outcome], bare.words);
  if (bare.outcome === 'served') return addAll(run, chosen, 'skipped', 'The target serves without a token');
  if (bare.outcome === 'unclear')
    return addAll(run, chosen, 'skipped', 'It is unclear whether the target needs a token');
  if (good && good.outcome !== 'served') {
    const isOwn = run.trial.base.key !== undefined;
    const [forged, again] = isOwn ? [await run.trial.send({ token: stranger }), await run.control()] : [];
    const advice = adviceOn(good, run.source, { forged, again });
    add(run, control, 'inconclusive', advice);
    return addAll(run, chosen, 'skipped', `A good token was not accepted: ${advice}`);
  }
  if (good) add(run, control, 'passed', good.words);
  else add(run, control, 'skipped', 'No token was given');
  await probeRows(run, chosen);
}

function add({ target, add: push, trial, stack }: Run, row: Own, verdict: ProbedRow['verdict'], got: string): void {
  const { id, rule, level, needs, sent, expected, remedy, ownCode } = row;
  const about = { id, target: `${target.method} ${target.url}`, rule, level, needs };
  const setting = settingOf(id, stack, (trial.good ?? trial.bare).headers);
  push({ ...about, sent, expected, got, verdict, remedy, ownCode, setting });
}

function addAll(run: Run, rows: readonly Row[], verdict: ProbedRow['verdict'], got: string): void {
  for (const row of rows) add(run, row, verdict, got);
}

/** Tries rows until the server ends, or no longer accepts a good token. */
async function probeRows(run: Run, chosen: readonly Row[]): Promise<void> {
  const { results, source, sender } = run;
  let judged = results.length;
  for (const [at, row] of chosen.entries()) {
    const left = chosen.slice(at + 1);
    run.begin(row.id);
    const isOver = await source.renew();
    if (isOver !== undefined) sender.stop(isOver);
    const lost = sender.lost();
    await probeRow(run, row);
    if (sender.lost() > lost && (await hasEnded(run))) {
      replaceLast(results, ended);
      if (!(await isBack(run))) return addAll(run, left, 'inconclusive', 'Not tried: the server has ended');
    }
    const failing = row.disturbs && results.at(-1)?.verdict !== 'skipped' ? await stillFails(run) : undefined;
    if (failing) {
      blame(run, row, left, failing);
      return addClosed(run);
    }
    if (at % controlInterval !== controlInterval - 1 && left.length > 0) continue;
    const again = await controlAgain(run);
    if (again && again.outcome !== 'served') {
      doubt(results, judged, again.words);
      addClosed(run);
      add(run, controlEnd, 'inconclusive', again.words);
      return addAll(run, left, 'inconclusive', 'Not tried: the API no longer accepts a good token');
    }
    judged = results.length;
  }
  addClosed(run);
  if (run.trial.good) add(run, controlEnd, 'passed', run.trial.good.words);
}

/** Says which requests got no response twice, although a good token got one. */
function addClosed(run: Run): void {
  const { closed } = run;
  const ids = [...new Set(closed)];
  const fault = `no response, twice, and then one with a good token: ${ids.join(', ')}`;
  if (ids.length === 0) add(run, noResponse, 'passed', 'each request got a response');
  else add(run, noResponse, 'warning', fault);
}

/** How long an API that fails may take to recover: about the cooldown of clients that fetch keys. */
const recoveryMs = [0, 1000, 31_000];

/** Returns undefined once a good token is accepted again, if need be by a key that the API has not seen yet. */
async function stillFails({ trial, source, sender, control }: Run): Promise<Answer | undefined> {
  let again = await control();
  for (const ms of trial.canWait ? recoveryMs : [0]) {
    // What ends the run for another reason is said there.
    if (again === undefined || again.outcome === 'served' || sender.stopped() !== undefined) return undefined;
    if (ms > 0) await sender.pause(ms);
    source.rekey();
    again = await control();
  }
  return again?.outcome === 'served' ? undefined : again;
}

/** Says of a row that good tokens fail after it, and of those after it that they were not tried. */
function blame(run: Run, row: Row, left: readonly Row[], { words }: Answer): void {
  replaceLast(run.results, {
    verdict: row.level === 'must' ? 'failed' : 'warning',
    got: `${words} ${notRecovered}`,
  });
  addAll(run, left, 'inconclusive', `Not tried: the API has not recovered from ${row.id}`);
}

/** Sends a good token. A gateway may have lost an instance for a moment. */
async function controlAgain({ control, sender }: Run): Promise<Answer | undefined> {
  const again = await control();
  if (again?.outcome !== 'unclear') return again;
  await sender.pause(1000);
  return control();
}

/** A connection that a server closes is a rejection. One that it no longer takes is the end of its process. */
const hasEnded = async ({ results, trial }: Run) =>
  results.at(-1)?.verdict === 'inconclusive' && (await trial.send({})).status === 0;
const ended: Partial<ProbedRow> = {
  ...{ verdict: 'failed', level: 'must' },
  got: endOfServer,
  remedy: 'Look into the log of the server for an uncaught exception at this time',
  ownCode: 'Catch it in the request, and reject the request',
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

/** What was judged since the last control may be due to an API that fell over. Such an API lets nothing in. */
function doubt(results: ProbedRow[], from: number, words: string): void {
  for (let at = from; at < results.length; at += 1) {
    const row = results[at];
    const isSeen = row?.verdict === 'failed' || row?.verdict === 'warning' ? isLetIn(row) : false;
    if (row && row.verdict !== 'skipped' && !isSeen)
      results[at] = { ...row, verdict: 'inconclusive', got: `${row.got}; then a good token: ${words}` };
  }
}

async function probeRow(run: Run, row: Row): Promise<void> {
  const { trial, sender } = run;
  const level: Level = (trial.profile && row.profiles?.[trial.profile]) ?? row.level;
  const judged = { ...row, level };
  const stopped = sender.stopped();
  const why =
    (row.needs === 'issuer' && !trial.base.key && 'No issuer was given') ||
    (row.needs === 'token' && !trial.good && 'No token was given') ||
    row.skip?.(trial);
  if (why) return add(run, judged, 'skipped', why);
  if (stopped !== undefined) return add(run, judged, 'inconclusive', `Not tried: ${stopped}`);
  const { verdict, got } = await row.run(trial);
  add(run, judged, verdict === 'failed' && level === 'should' ? 'warning' : verdict, got);
}
