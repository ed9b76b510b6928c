/** A change to one place of a source file that takes a check away or bends it. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** What was done, in a few words. */
  readonly what: string;
  /** The line before the change, by which a survivor is known again when lines move. */
  readonly original: string;
  /** The whole changed file. */
  readonly source: string;
}

interface Change {
  readonly at: number;
  readonly length: number;
  readonly text: string;
  readonly what: string;
}

type Kind = 'code' | 'string' | 'comment' | 'regex' | 'template';

/** Returns for each character what it belongs to. It knows as much of TypeScript as this project's formatted sources need. */
function classify(source: string): readonly Kind[] {
  const kinds: Kind[] = [];
  const patterns: readonly (readonly [Kind, RegExp])[] = [
    ['comment', /\/\/[^\n]*|\/\*[\s\S]*?\*\//y],
    ['string', /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/y],
    ['template', /`(?:[^`\\]|\\.)*`/y],
    ['regex', /(?<=[(,=:[!&|?{};\s]\s?)\/(?![*/ ])(?:[^/\\\n[]|\\.|\[(?:[^\]\\]|\\.)*\])+\/[a-z]*/y],
  ];
  while (kinds.length < source.length) {
    const at = kinds.length;
    const found = patterns.find(([, pattern]) => {
      pattern.lastIndex = at;
      return pattern.test(source);
    });
    const end = found ? found[1].lastIndex : at + 1;
    while (kinds.length < end) kinds.push(found?.[0] ?? 'code');
  }
  return kinds;
}

/** Every replacement of a piece of code by another, by what it looks like in formatted code. */
const REPLACEMENTS: readonly (readonly [pattern: RegExp, text: string])[] = [
  [/ && /g, ' || '],
  [/ \|\| /g, ' && '],
  [/ \?\? /g, ' && '],
  [/ \?\?= /g, ' = '],
  [/ === /g, ' !== '],
  [/ !== /g, ' === '],
  [/ < /g, ' <= '],
  [/ < /g, ' > '],
  [/ <= /g, ' < '],
  [/ <= /g, ' > '],
  [/ > /g, ' >= '],
  [/ > /g, ' < '],
  [/ >= /g, ' > '],
  [/ >= /g, ' < '],
  [/ \+ /g, ' - '],
  [/ - /g, ' + '],
  [/ \* /g, ' / '],
  [/ \/ /g, ' * '],
  [/ % /g, ' * '],
  [/ \+= /g, ' -= '],
  [/ \? /g, ' && false ? '],
  [/ \? /g, ' || true ? '],
  [/!(?=[\w(])/g, ''],
  [/\btrue\b/g, 'false'],
  [/\bfalse\b/g, 'true'],
  [/\bundefined\b/g, 'null'],
  [/\?\./g, '.'],
  [/\.every\(/g, '.some('],
  [/\.some\(/g, '.every('],
  [/Math\.max\(/g, 'Math.min('],
  [/Math\.min\(/g, 'Math.max('],
  [/Math\.ceil\(/g, 'Math.floor('],
  [/Math\.floor\(/g, 'Math.ceil('],
  [/\.toLowerCase\(\)/g, ''],
  [/\.startsWith\(/g, '.endsWith('],
  [/\.find\(/g, '.findLast('],
  [/\.filter\([^()]*\)/g, ''],
  [/\bawait /g, ''],
];

function* replacements(source: string, kinds: readonly Kind[]): Generator<Change> {
  for (const [pattern, text] of REPLACEMENTS) {
    for (const { index, 0: found } of source.matchAll(pattern)) {
      if (kinds[index] === 'code')
        yield { at: index, length: found.length, text, what: `${found.trim()} to ${text.trim() || 'nothing'}` };
    }
  }
}

/** Numbers go one up, and to 0; texts become empty, or not; patterns match nothing, and anything. */
function* literals(source: string, kinds: readonly Kind[]): Generator<Change> {
  for (const { index, 0: found } of source.matchAll(/(?<![\w.$])\d[\d_]*(?![\w.])/g)) {
    if (kinds[index] !== 'code') continue;
    const value = Number(found.replaceAll('_', ''));
    for (const other of new Set([value + 1, value === 0 ? -1 : 0])) {
      yield { at: index, length: found.length, text: String(other), what: `${found} to ${other}` };
    }
  }
  for (let at = 0; at < source.length; at += 1) {
    const kind = kinds[at];
    if ((kind !== 'string' && kind !== 'template' && kind !== 'regex') || kinds[at - 1] === kind) continue;
    const end = kinds.findIndex((other, position) => position > at && other !== kind);
    const found = source.slice(at, end);
    const others = kind === 'regex' ? ['/(?!)/g', '/(?:)/g'] : [found.length > 2 ? "''" : "'mutant'"];
    for (const text of others) yield { at, length: found.length, text, what: `${found} to ${text}` };
  }
}

/** Returns the end of what begins at `start`, just behind the first of `closers` outside every bracket. */
function endOf(source: string, kinds: readonly Kind[], start: number, closers: string): number {
  let depth = 0;
  for (let at = start; at < source.length; at += 1) {
    if (kinds[at] !== 'code') continue;
    const character = source.charAt(at);
    if ('([{'.includes(character)) depth += 1;
    if (')]}'.includes(character)) depth -= 1;
    if (depth < 0) return -1;
    if (depth === 0 && closers.includes(character)) return at + 1;
  }
  return -1;
}

/** Conditions hold always, and never. */
function* conditions(source: string, kinds: readonly Kind[]): Generator<Change> {
  for (const { index, 0: found } of source.matchAll(/\b(?:if|while) \(/g)) {
    if (kinds[index] !== 'code') continue;
    const at = index + found.length - 1;
    const end = endOf(source, kinds, at, ')');
    for (const text of ['(true)', '(false)']) yield { at, length: end - at, text, what: `condition to ${text}` };
  }
}

/** Statements, members of objects and elements of lists go, each on its own. */
function* removals(source: string, kinds: readonly Kind[]): Generator<Change> {
  for (const { index, 1: indent = '', 2: start = '' } of source.matchAll(/^( *)(\S[^\n]*)/gm)) {
    const at = index + indent.length;
    if (
      kinds[at] === 'comment' ||
      /^(?:if|import|export|const|let|function|async|class|interface|type|return|\}|\)|\]|\/)/.test(start)
    )
      continue;
    for (const [closer, text] of [
      [';', ';'],
      [',', ''],
    ] as const) {
      const end = endOf(source, kinds, at, closer);
      if (end > 0) yield { at, length: end - at, text, what: `without ${start.slice(0, 50)}` };
    }
  }
}

/** Returns every mutant of a file that is another program than the file: what only changes types or does not parse is left out. */
export function mutantsOf(file: string, source: string): readonly Mutant[] {
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  const kinds = classify(source);
  const seen = new Set([transpiler.transformSync(source)]);
  const importsEnd = source.search(/\n\n(?!import)/);
  const changes = [conditions, removals, replacements, literals].flatMap((mutator) => [...mutator(source, kinds)]);
  return changes
    .filter(({ at }) => at > importsEnd)
    .toSorted((a, b) => a.at - b.at)
    .flatMap(({ at, length, text, what }) => {
      const changed = source.slice(0, at) + text + source.slice(at + length);
      try {
        const program = transpiler.transformSync(changed);
        if (seen.has(program)) return [];
        seen.add(program);
      } catch {
        return [];
      }
      const line = source.slice(0, at).split('\n').length;
      return [{ file, line, what, original: source.split('\n')[line - 1]?.trim() ?? '', source: changed }];
    });
}
