import { type Cell, partsOf } from './cells.ts';
import { type Observed, type Outcome, observeUnguarded } from './observe.ts';
import { SECRET } from './routes.ts';

type Expected = Awaited<ReturnType<typeof expectationOf>>;

const statuses = { none: 401, forged: 401, unscoped: 403, valid: 200 };
const isServed = ({ runs, body }: Outcome) => runs > 0 || body.includes(SECRET);

/**
 * Returns what must become of the requests to the applications of a cell. Whatever it is, no hostile client is served.
 */
export async function expectationOf(cell: Cell) {
  const { isServed: isMeant = true, prefix = '' } = partsOf(cell, '').application;
  const isHarmless = cell.hook === 'none';
  const isMountWithoutContext =
    cell.configuration === 'aot: false' &&
    /mount/i.test(cell.route) &&
    /function|authorize|met/.test(cell.requirement + cell.beside);
  const isCertain = isMeant === true && isHarmless && !isMountWithoutContext && (await isServedAlone(cell));
  return {
    /** Whether a valid token is served: certainly, certainly not, or either. */
    isServed: isCertain || (isMeant !== false && 'maybe'),
    /** Whether nothing but the guard decides about the status of a response. */
    isHarmless,
    /** Whether the route is one of the application itself, of which `isGuarded` is asked. */
    isListed: prefix === '',
  };
}

/** Whether Elysia without a guard serves the route of a cell. */
async function isServedAlone(cell: Cell): Promise<boolean> {
  const { apps } = await observeUnguarded(cell);
  const last = apps.flatMap(({ outcomes }) => outcomes.slice(-1));
  return last.every((outcome) => isServed(outcome) && outcome.status > 0 && outcome.status < 300);
}

function faultsOfOutcome(expected: Expected, outcome: Outcome): string[] {
  const { client, status, body, calls } = outcome;
  const isExpected = expected.isServed === true;
  if (client === 'valid') {
    if (isExpected && !isServed(outcome)) return [`not served with a valid token: ${status} ${body.slice(0, 120)}`];
    return expected.isServed === false && isServed(outcome)
      ? ['served, though the guard does not reach the route']
      : [];
  }
  const isWrong = status > 0 && (isExpected ? status !== statuses[client] : status < 300);
  return [
    ...(isServed(outcome) ? [`the route served the client ${client}`] : []),
    ...(expected.isHarmless && isWrong ? [`${status} for the client ${client}`] : []),
    ...(calls > 0 && expected.isServed !== false ? [`a hook after the requirements ran for the client ${client}`] : []),
  ];
}

/** Returns what is wrong with what the applications of a cell did, and whether they all served the valid token. */
export function compare(expected: Expected, { error, apps }: Observed) {
  const isExpected = expected.isServed === true;
  const faults = apps.flatMap(({ outcomes, isCalledGuarded, lies }) => [
    ...outcomes.flatMap((outcome) => faultsOfOutcome(expected, outcome)),
    ...(isExpected && expected.isListed && !isCalledGuarded ? ['isGuarded is false of all routes'] : []),
    ...lies.map((path) => `isGuarded is true of ${path}, which is open`),
  ]);
  if (isExpected && error !== undefined) faults.push(`cannot be built: ${error}`);
  const wasServed =
    apps.length > 0 && apps.every(({ outcomes }) => outcomes.some((one) => one.client === 'valid' && isServed(one)));
  return { faults: [...new Set(faults)], wasServed };
}
