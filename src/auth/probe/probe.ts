import { operationsOf, type ProbeOptions, type Target, targetsOf } from './options.ts';
import { type ProbedRow, type ProbeReport, reportOf } from './report.ts';
import type { Level, Needs, Row, Trial } from './row.ts';
import { rows as allRows } from './rows/rows.ts';
import { createSender, type Received, type Sender, type Sent } from './transport.ts';
import { createTrial, type Source, sourceOf } from './trial.ts';

// Here is the course of a run: controls, rows, controls. What is sent is in rows/, and how in transport.ts.

const profiles: readonly unknown[] = ['rfc6750', 'rfc9068', 'mcp', 'fapi2', undefined];
/** How many rows are tried between two controls. */
const controlInterval = 25;

/**
 * Tries a resource server from outside: with tokens that must be refused, and some that must not, row by row. Needs nothing of
 * our guard. A report without failures is no proof that every route is guarded: name all of them.
 * @example
 * const issuer = await createTestIssuer();
 * const app = createApplication(issuer.options);
 * const targets = [{ url: 'https://api.invalid/reports', scope: 'read:reports' }];
 * const report = await probe({ issuer, fetch: (request) => app.fetch(request), targets });
 * expect(report.failed).toEqual([]);
 * @throws {TypeError} an option is missing, or names a row or a profile that does not exist
 */
export async function probe(options: ProbeOptions): Promise<ProbeReport> {
  const { known = {}, only, skip = [], profile, headers = {}, signal } = options;
  if (!profiles.includes(profile)) throw new TypeError(`Cannot probe: ${profile} is no profile`);
  for (const name of [...(only ?? []), ...skip, ...Object.keys(known)])
    if (![...allRows, ...ownRows].some((row) => isMeant(name, row)))
      throw new TypeError(`Cannot probe: no row is called ${name}`);
  const { targets, notTried } = readTargets(options);
  const onReceived = ({ id, method, url }: Sent, { words: _, ...received }: Received) =>
    options.onResponse?.({ row: id, method, url, ...received });
  const sender = createSender({ fetch: options.fetch, headers: Object.entries(headers), onReceived });
  signal?.addEventListener('abort', () => sender.stop('The run was interrupted'));
  const chosen = chosenRows(options);
  const source = await sourceOf(options);
  const results: ProbedRow[] = [];
  for (const target of targets) {
    const run = { target, source, sender, options, results, total: targets.length * (chosen.length + ownRows.length) };
    await probeTarget(run, chosen);
  }
  return reportOf(
    results.map((row) => withKnown(row, known)),
    notTried,
  );
}

/** Returns the rows that a run has, without sending anything. */
export function plan(options: ProbeOptions, depth: Needs): readonly string[] {
  const { targets, notTried } = readTargets(options);
  const depths: readonly Needs[] = ['nothing', 'token', 'issuer'];
  const chosen = chosenRows(options).filter(({ needs }) => depths.indexOf(needs) <= depths.indexOf(depth));
  return [
    ...targets.flatMap(({ method, url }) => chosen.map(({ id, sent }) => `${method} ${url}  ${id}: ${sent}`)),
    ...notTried,
  ];
}

/** Whether a row is meant by its ID, or by the beginning of several. */
const isMeant = (name: string, { id }: Own) =>
  [...allRows, ...ownRows].some((row) => row.id === name) ? id === name : id.startsWith(name);

const chosenRows = ({ only, skip = [] }: ProbeOptions): readonly Row[] =>
  allRows.filter(
    (row) => (only?.some((name) => isMeant(name, row)) ?? true) && !skip.some((name) => isMeant(name, row)),
  );

function readTargets({ targets, openapi, baseUrl = 'https://api.invalid/', methods }: ProbeOptions) {
  const described = openapi ? operationsOf(openapi, baseUrl, methods) : { targets: [], notTried: [] };
  const all = targetsOf([...(targets ?? []), ...described.targets]);
  if (all.length === 0) throw new TypeError('Cannot probe: targets must name at least one URL that requires a token');
  return { targets: all, notTried: described.notTried };
}

interface Run {
  readonly target: Target;
  readonly source: Source;
  readonly sender: Sender;
  readonly options: ProbeOptions;
  readonly results: ProbedRow[];
  readonly total: number;
}

type Own = Pick<Row, 'id' | 'rule' | 'level' | 'needs' | 'sent' | 'expected' | 'remedy'>;
const own = (id: string, needs: Row['needs'], sent: string, expected: string, rule: string, remedy: string): Own => ({
  ...{ id, rule, level: 'must', needs, sent, expected, remedy },
});
const noToken = own('no-token', 'nothing', 'no token', 'a refusal (4xx)', 'RFC 6750 §3', 'Guard the route');
const control = own(
  'control',
  'token',
  'a good token, twice',
  'success, the same each time',
  'RFC 6750 §2.1',
  'Let the API trust the issuer, and give it a token that it accepts',
);
const controlEnd = { ...control, id: 'control-end', sent: 'a good token, at the end' };
const given = Object.entries({
  expired: 'a token that has expired',
  audience: 'a token for another audience',
  scope: 'a token without the scope',
  id: 'an ID token',
}).map(([name, sent]) =>
  own(
    `given-${name}`,
    'token',
    sent,
    'a refusal (4xx)',
    'RFC 6750 §3.1',
    'Check exp, aud, scope and the kind of each token',
  ),
);
type Add = (row: Own, verdict: ProbedRow['verdict'], got: string) => void;

/** Rows that are part of each run. */
const ownRows: readonly Own[] = [noToken, control, controlEnd, ...given];

async function probeTarget(run: Run, chosen: readonly Row[]): Promise<void> {
  const { results, target, source, sender, options } = run;
  const add: Add = ({ id, rule, level, needs, sent, expected, remedy }, verdict, got) => {
    const at = `${target.method} ${target.url}`;
    const row = { id, target: at, rule, level, needs, sent, expected, got, verdict, remedy };
    results.push(row);
    options.onRow?.(row, run.total);
  };
  const skipAll = (rows: readonly Row[], why: string) => {
    for (const row of rows) add(row, 'skipped', why);
  };

  const { trial, secondGood, control: repeat, begin } = await createTrial(target, source, sender, options);
  const { bare, good: firstGood } = trial;
  if (bare.outcome === 'served') {
    add(noToken, 'failed', bare.words);
    return skipAll(chosen, 'The target serves without a token');
  }
  add(noToken, bare.outcome === 'refused' ? 'passed' : 'inconclusive', bare.words);
  if (bare.outcome === 'unclear') return skipAll(chosen, 'It is unclear whether the target needs a token');
  if (firstGood) {
    const isGood = firstGood.outcome === 'served' && secondGood?.status === firstGood.status;
    add(
      control,
      isGood ? 'passed' : 'inconclusive',
      isGood ? firstGood.words : `${firstGood.words}, ${secondGood?.words}: ${source.advice}`,
    );
    if (!isGood) return skipAll(chosen, 'A good token was not accepted');
    await probeGiven(trial, options, add);
  } else add(control, 'skipped', 'No token was given');

  let judged = results.length;
  for (const [at, row] of chosen.entries()) {
    begin(row.id);
    await source.renew();
    await probeRow(trial, row, options, sender, add);
    if (at % controlInterval !== controlInterval - 1 && at !== chosen.length - 1) continue;
    const again = await repeat();
    if (again && again.outcome !== 'served') {
      doubt(results, judged, again.words);
      add(controlEnd, 'inconclusive', again.words);
      for (const left of chosen.slice(at + 1))
        add(left, 'inconclusive', 'Not tried: the API no longer accepts a good token');
      return;
    }
    judged = results.length;
  }
  if (firstGood) add(controlEnd, 'passed', firstGood.words);
}

/** What was judged since the last control may be due to an API that fell over. */
function doubt(results: ProbedRow[], from: number, words: string): void {
  for (let at = from; at < results.length; at += 1) {
    const row = results[at];
    if (row && row.verdict !== 'skipped')
      results[at] = { ...row, verdict: 'inconclusive', got: `${row.got}; then a good token: ${words}` };
  }
}

async function probeGiven(trial: Trial, { tokens = {} }: ProbeOptions, add: Add): Promise<void> {
  for (const row of given) {
    const token = tokens[row.id.slice('given-'.length) as 'id'];
    if (token === undefined) {
      if (Object.keys(tokens).length > 0) add(row, 'skipped', 'No such token was given');
      continue;
    }
    const { outcome, words } = await trial.send({ token });
    add(row, outcome === 'served' ? 'failed' : outcome === 'refused' ? 'passed' : 'inconclusive', words);
  }
}

async function probeRow(trial: Trial, row: Row, options: ProbeOptions, sender: Sender, add: Add): Promise<void> {
  const { profile } = options;
  const level: Level = (profile && row.profiles?.[profile]) ?? row.level;
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

function withKnown(row: ProbedRow, known: Readonly<Record<string, string>>): ProbedRow {
  const reason = known[row.id];
  if (reason === undefined || row.verdict === 'skipped' || row.verdict === 'inconclusive') return row;
  if (row.verdict !== 'passed') return { ...row, known: reason };
  return { ...row, verdict: 'failed', got: `${row.got}: it passes again, remove it from the known deviations` };
}
