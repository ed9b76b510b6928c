import { expect, test } from 'bun:test';
import { Glob } from 'bun';

/** Returns the regular expressions in a source: text between slashes where a value can begin. Comments are left out. */
function expressionsIn(source: string): string[] {
  const code = source.replace(/^\s*(?:\/?\*|\/\/).*$/gm, '');
  const literal =
    /(?<=[(,=:?[!&|]\s*|return )\/((?:\[(?:\\.|[^\]\\\n])*\]|\\.|[^/\\[\n])+)\/[dgimsuvy]*(?=[\s,.;)\]])/g;
  return [...code.matchAll(literal)].map(([, expression = '']) => expression);
}

/**
 * Whether a search can take quadratic time: the expression begins with a repetition that must be followed by something.
 */
function isQuadratic(expression: string): boolean {
  return /^(?:\[(?:\\.|[^\]\\])*\]|\\.|[^\\[(^])(?:[*+]|\{\d*,\d*\})(?!$)/.test(expression);
}

test.each([' *, *', '[ \\t]*x', '\\s+$', '.+@'])('isQuadratic() finds /%s/', (it) =>
  expect(isQuadratic(it)).toBe(true),
);

test('no expression of the service and the guard takes quadratic time to search a header, a path or a query', async () => {
  const found: string[] = [];
  let count = 0;
  for await (const path of new Glob('src/**/*.ts').scan()) {
    // It searches its own tokens, and the responses of servers that its user names.
    if (path.includes('src/probe/')) continue;
    const expressions = expressionsIn(await Bun.file(path).text());
    count += expressions.length;
    found.push(...expressions.filter(isQuadratic).map((expression) => `${path}: /${expression}/`));
  }
  expect(count).toBeGreaterThan(60);
  expect(found).toEqual([]);
});
