/*
 * Which open routes Elysia may serve in place of guarded ones. Its router prefers the method, and then the more
 * specific path. On Bun, a server that listens asks Bun's router first, which ignores the last slash, and knows neither
 * `/a/*` nor `/a-:id` nor `/é/:id` nor `ALL`.
 */
import type { Route } from './internals.ts';

type Place = Pick<Route, 'method' | 'path'>;

/** Whether Elysia may serve an open route for a request to a guarded one whose path is as specific, or more. */
export function mayCover(open: Place, guarded: Place): boolean {
  const methods = new Set([open.method, guarded.method]);
  const isShared =
    methods.size === 1 || (methods.has('ALL') ? !methods.has('OPTIONS') : /^(GET|WS){2}$/.test([...methods].join('')));
  if (!isShared) return false;
  return spellingsOf(open.path).some((wider) =>
    spellingsOf(guarded.path).some((path) => {
      const order = compare(path, wider);
      if (order === 0) return true;
      if (order === undefined || order < 0) return false;
      if (methods.size > 1) return guarded.method === 'ALL';
      return /^(?!ALL|WS)/.test(open.method) && isUnknownToBun.test(path) && !isUnknownToBun.test(wider);
    }),
  );
}

const isUnknownToBun = /[*%]|[^/]:/;

/** Returns the paths of a route without optional parameters, their names, the last slash and forms of encoding. */
function spellingsOf(path: string): readonly string[] {
  const all = [...withoutOptional(path), ...pathsOfBun(path)].map(
    (each) => new URL(`http://localhost${each}`).pathname,
  );
  return [...new Set(all.map((each) => each.replaceAll(/:[^/]+/g, ':').replace(/\/$/, '')))];
}

function withoutOptional(path: string): readonly string[] {
  const [optional] = /\/:[^/]+\?(?=\/|$)/.exec(path) ?? [];
  if (!optional) return [path];
  return ['', optional.slice(0, -1)].flatMap((kept) => withoutOptional(path.replace(optional, () => kept)));
}

/**
 * Returns the paths that Elysia gives Bun. Of a route with an optional parameter, they are also its beginnings: `/a`
 * and `/a/:id` of `/a/:id?/b`, and `/a` of `/a/:id/b/:c?`.
 */
function pathsOfBun(path: string): readonly string[] {
  const found = /\/(:.+?)\?(?=\/|$)/.exec(path);
  if (!found) return [path];
  const [optional, parameter] = found;
  const head = path.slice(0, found.index);
  const tails = ['', ...pathsOfBun(path.slice(found.index + optional.length))];
  return tails.flatMap((tail) => [head + tail, `${head}/${parameter}${tail}`]);
}

/** Returns above 0 if the first path is more specific, below 0 if the second is, undefined if no request has both. */
function compare(some: string, other: string): number | undefined {
  const [one = [], two = []] = [some, other].map((path) => path.split('/'));
  let order = 0;
  for (const [place, part] of one.entries()) {
    const opposite = two[place];
    if (opposite === undefined || !(matches(part, opposite) || matches(opposite, part))) return undefined;
    order ||= weightOf(part) - weightOf(opposite);
    if (`${part}/${opposite}`.includes('*')) return order;
  }
  return one.length === two.length ? order : undefined;
}

/** The text before a parameter or `*`, and whether there is one. */
const fixedPart = (part: string) => /^[^:*]*/.exec(part)?.[0] ?? '';
const matches = (part: string, pattern: string) =>
  part === pattern || (pattern !== fixedPart(pattern) && part.startsWith(fixedPart(pattern)));
/** Fixed text is more specific than a parameter, and that is than `*`. */
const weightOf = (part: string) =>
  part === fixedPart(part) ? Number.MAX_SAFE_INTEGER : fixedPart(part).length + (part.includes('*') ? 0 : 0.5);
