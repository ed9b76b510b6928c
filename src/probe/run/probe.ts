import { stackNames } from '../advice/advice.ts';
import { withCauses } from '../advice/causes.ts';
import type { Sent } from '../http/network.ts';
import { type Clock, createSender, type Received } from '../http/sender.ts';
import type { KeyServer } from '../issuer/served-issuer.ts';
import { operationsOf } from '../options/openapi.ts';
import { type ProbeOptions, type Target, targetsOf } from '../options/options.ts';
import { withKnown } from '../report/known.ts';
import { redactorOf } from '../report/redact.ts';
import { reportOf } from '../report/report.ts';
import type { ProbedRow, ProbeReport } from '../report/result.ts';
import type { Needs } from '../row/description.ts';
import { control, ownRows } from '../row/own-rows.ts';
import type { Row } from '../row/row.ts';
import { printable } from '../values/text.ts';
import { announced, chosenRows, depthOf, idsOf, limits } from './choice.ts';
import { patienceMinutes } from './patience.ts';
import { sourceOf } from './source.ts';
import { probeTarget } from './target.ts';
import { createTrial } from './trial.ts';

// Here a run begins and ends: its options, its targets one after the other, its report.

const profiles: readonly unknown[] = ['rfc6750', 'rfc9068', 'mcp', 'fapi2', undefined];

/**
 * Returns the report of `probe`. `server` is where the keys of the test issuer are published, and tests have a clock of
 * their own.
 */
export async function runProbe(options: ProbeOptions, server?: KeyServer, clock?: Clock): Promise<ProbeReport> {
  const { known = {}, only, skip = [], profile, headers, signal } = options;
  // Requests without a token would have one, and an API would be accused of serving them.
  if (Object.keys(headers ?? {}).some((name) => /^(?:authorization|dpop)$/i.test(name)))
    throw new TypeError('Cannot probe: headers must not have Authorization or DPoP, give the token as the token');
  if (!profiles.includes(profile)) throw new TypeError(`Cannot probe: ${profile} is no profile`);
  if (options.stack !== undefined && !stackNames.includes(options.stack))
    throw new TypeError(`Cannot probe: ${options.stack} is no stack, choose one of ${stackNames.join(', ')}`);
  for (const name of [...(only ?? []), ...skip, ...Object.keys(known)])
    if (idsOf(name).length === 0 || (name in known && !idsOf(name).includes(name)))
      throw new TypeError(`Cannot probe: no row is called ${name}`);
  const { targets, notTried } = readTargets(options);
  const onReceived = ({ id, method, url }: Sent, { words: _, ...received }: Received) =>
    options.onResponse?.({ row: id, method, url, ...received });
  const limit = Math.max(limits[depthOf(options)], limits.standard);
  const sender = createSender({ fetch: options.fetch, headers, signal, onReceived, clock, limit });
  const chosen = chosenRows(options);
  const source = await sourceOf(options, server);
  const results: ProbedRow[] = [];
  const total = targets.length * (chosen.length + ownRows.length);
  for (const [at, target] of targets.entries()) {
    const parts = { source, sender, server, clock, isFirst: at === 0, options };
    const add = (row: ProbedRow) => {
      results.push(row);
      options.onRow?.({ ...row, got: redactorOf(source.tokens())(row.got) }, total);
    };
    const why = at > 0 ? sender.stopped() : undefined;
    if (why !== undefined) {
      add(restOf(targets.slice(at), why));
      break;
    }
    const run = { target, source, sender, results, add, stack: options.stack };
    await probeTarget({ ...(await createTrial(target, parts)), ...run }, chosen);
  }
  const depth = announced(options, results.length, targets.length);
  return reportOf(withKnown(withCauses(results), known), notTried, depth, redactorOf(source.tokens()));
}

/** Returns one row for all targets that are left when a run has stopped. */
function restOf([target, ...others]: readonly Target[], why: string): ProbedRow {
  const where = `${target?.method} ${target?.url}${others.length > 0 ? ` and ${others.length} more` : ''}`;
  return { ...control, target: where, got: `Not tried: ${why}`, verdict: 'inconclusive' };
}

/** Returns the rows that a run has if this is given, and its limit, without sending anything. */
export function plan(options: ProbeOptions, given: Needs): readonly string[] {
  const { targets, notTried } = readTargets(options);
  const needs: readonly Needs[] = ['nothing', 'token', 'issuer'];
  const isGiven = (row: Pick<Row, 'needs'>) => needs.indexOf(row.needs) <= needs.indexOf(given);
  const chosen = chosenRows(options, given).filter(isGiven);
  const count = targets.length * (chosen.length + ownRows.filter(isGiven).length);
  return [
    announced(options, count, targets.length),
    ...(options.patient ? [`Waits for at most ${waitMinutes(chosen)} minutes in all`] : []),
    ...targets.map(({ method, url }) => `Target: ${method} ${url}`),
    ...chosen.map(({ id, sent, requests }) => `${id}, ${requests} ${requests === 1 ? 'request' : 'requests'}: ${sent}`),
    ...notTried,
  ].map((line) => printable(line, 1000));
}

const waitMinutes = (rows: readonly Row[]) => patienceMinutes(rows.filter(({ fetches }) => fetches).length);

function readTargets({ targets, openapi, baseUrl, methods }: ProbeOptions) {
  const described = openapi ? operationsOf(openapi, baseUrl, methods) : { targets: [], notTried: [] };
  const all = targetsOf([...(targets ?? []), ...described.targets]);
  if (all.length === 0) throw new TypeError('Cannot probe: targets must name at least one URL that requires a token');
  return { targets: all, notTried: described.notTried };
}
