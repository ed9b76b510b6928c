/** A failed test, with its code frame and its error. */
export interface Failure {
  readonly file: string;
  readonly name: string;
  readonly text: string;
}

const isFrame = (line: string) => /^ *(?:\d+ \| |\^)/.test(line);

/** Returns the lines of one failed test: what was printed before its error belongs to tests that passed. */
function linesOf(before: readonly string[]): readonly string[] {
  const error = before.findLastIndex((line) => line.startsWith('error: ') || /^\w*Error: /.test(line));
  let first = error;
  while (first > 0 && isFrame(before[first - 1] ?? '')) first -= 1;
  return error === -1 ? before.slice(-15) : before.slice(first);
}

/** Reads what `bun test` wrote to standard error: the failed tests, what belongs to none of them, and the summary. */
export function readFailures(output: string) {
  const failures: Failure[] = [];
  let file = '';
  let before: string[] = [];
  const lines = output.split('\n');
  const end = lines.findLastIndex((line) => /^ *\d+ pass$/.test(line));
  const summary = end === -1 ? [] : lines.slice(end);
  for (const line of end === -1 ? lines : lines.slice(0, end)) {
    const [, named] = /^(\S+\.[jt]s):$/.exec(line) ?? [];
    const [, failed] = /^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/.exec(line) ?? [];
    if (named !== undefined) file = named;
    if (failed === undefined) before = named === undefined ? [...before, line] : [];
    else {
      failures.push({ file, name: failed, text: [...linesOf(before), line].join('\n') });
      before = [];
    }
  }
  return { failures, rest: `${before.join('\n')}\n`, summary: summary.join('\n') };
}
