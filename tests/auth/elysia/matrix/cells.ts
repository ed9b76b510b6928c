import { WebStandardAdapter } from 'elysia/adapter/web-standard';
import { seeded } from '../../../support/seeded.ts';
import { applications } from './applications.ts';
import { effectsFor, hookNames, places } from './hooks.ts';
import { requirementAxes } from './requirements.ts';
import { routeKinds } from './routes.ts';

const configurations: Readonly<Record<string, object>> = {
  default: {},
  'aot: false': { aot: false },
  precompile: { precompile: true },
  'no system router': { systemRouter: false },
  'no native static response': { nativeStaticResponse: false },
  'strict path': { strictPath: true },
  'Web-standard adapter': { adapter: WebStandardAdapter },
};

/** Of each axis, the first value is the usual one. */
const axes = {
  application: Object.keys(applications),
  route: Object.keys(routeKinds),
  form: ['fetch', 'listen', 'handle'],
  configuration: Object.keys(configurations),
  ...requirementAxes,
  hook: hookNames,
  effect: Object.keys(effectsFor('')),
  place: places,
};
type Axis = keyof typeof axes;
const names = Object.keys(axes) as Axis[];
export type Cell = Readonly<Record<Axis, string>>;

const pick = <Value>(table: Readonly<Record<string, Value>>, name: string): Value => {
  const value = table[name];
  if (value === undefined) throw new TypeError(`There is no ${name}`);
  return value;
};

/** Returns what the names of a cell stand for. Hostile hooks use the valid token. */
export function partsOf(cell: Cell, valid: string) {
  const [application, kind] = [pick(applications, cell.application), pick(routeKinds, cell.route)];
  const path = (application.prefix ?? '') + (kind.path ?? '/secret');
  const configuration = pick(configurations, cell.configuration);
  return { application, kind, path, configuration, effect: pick(effectsFor(`Bearer ${valid}`), cell.effect) };
}

export function isImpossible({ form, route, named, ...cell }: Cell): boolean {
  const { isApart = false, isServed, isPublic = false } = pick(applications, cell.application);
  const isWeb = cell.configuration === 'Web-standard adapter';
  const isCompiled = cell.configuration !== 'aot: false';
  const requires = cell.requirement !== 'none';
  return (
    (form === 'listen' && typeof Bun === 'undefined') ||
    (isWeb && (form === 'listen' || route === 'WebSocket')) ||
    // Elysia has such an instance ask itself for its server, without end, with any guard or none.
    (isCompiled && cell.application.includes('async function') && route === 'WebSocket') ||
    // Elysia reads the body of the one Response twice, and leaves a rejected promise behind.
    (!isCompiled && route.startsWith('Response')) ||
    (isPublic && !requires) ||
    // These plugins bring their own guard.
    (isServed === false && requires && named === 'second plugin of one name') ||
    // The macro is unknown there, and types say so.
    (isApart && isServed !== false && requires && (named !== 'route' || cell.beside !== 'nothing'))
  );
}

/** Returns the values of a cell that are not the usual ones. */
export const unusual = (cell: Cell): Partial<Cell> =>
  Object.fromEntries(names.flatMap((name) => (cell[name] === axes[name][0] ? [] : [[name, cell[name]]])));

/** Returns every cell with these values, and the usual value of each other axis. */
export function cellsWith(values: Partial<Readonly<Record<Axis, readonly string[] | 'all'>>>): Cell[] {
  return names.reduce<Partial<Cell>[]>(
    (cells, name) => {
      const { [name]: given = axes[name].slice(0, 1) } = values;
      const each = given === 'all' ? axes[name] : given;
      return cells.flatMap((cell) => each.map((value) => ({ ...cell, [name]: value })));
    },
    [{}],
  ) as Cell[];
}

/** Returns some of these cells, in which every two values of two axes still meet if they do in any possible cell. */
export function pairsOf(cells: readonly Cell[]): Cell[] {
  const varied = names.filter((name) => cells.some((cell) => cell[name] !== cells[0]?.[name]));
  const axisPairs = varied.flatMap((name, at) => varied.slice(at + 1).map((other) => [name, other] as const));
  const candidates = cells
    .filter((cell) => !isImpossible(cell))
    .map((cell) => ({ cell, pairs: axisPairs.map((axes) => axes.map((name) => `${name}=${cell[name]}`).join()) }));
  const left = new Set(candidates.flatMap(({ pairs }) => pairs));
  const gain = ({ pairs }: (typeof candidates)[number]) => pairs.filter((pair) => left.has(pair)).length;
  const kept: Cell[] = [];
  while (left.size > 0) {
    const best = candidates.reduce((most, each) => (gain(each) > gain(most) ? each : most));
    for (const pair of best.pairs) left.delete(pair);
    kept.push(best.cell);
  }
  return kept;
}

/** Returns so many random cells, of which a quarter has no hook. */
export function sampleCells(count: number, seed: number): Cell[] {
  const random = seeded(seed);
  return Array.from({ length: count }, () => {
    const drawn = names.map((name) => [name, axes[name][random(axes[name].length)]]);
    const hostile: Cell = Object.fromEntries(drawn);
    const isHarmless = random(4) === 0 || hostile.hook === 'none';
    return isHarmless ? { ...hostile, hook: 'none', effect: 'throws', place: 'before' } : hostile;
  });
}
