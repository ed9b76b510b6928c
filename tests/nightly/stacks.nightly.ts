import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Library, plainOf, replacePart, tablesOf } from '../compare/page.ts';
import { buildAll, confirm, confirmedRows, type Stack, stacks, tryStack, versions } from '../stacks/stacks.ts';
import { readText, root } from '../support/repository.ts';

const page = 'bench/comparison-languages.md';

/** Tries the stacks that this machine can build, and says why others are left out. */
async function compare() {
  const built = await buildAll();
  const results: (readonly [Library, ReturnType<typeof confirmedRows>])[] = [];
  const leftOut: string[] = [];
  for (const stack of stacks) {
    const why = built.get(stack.language) ?? (await tried(stack, results));
    if (why !== undefined) leftOut.push(`${stack.name}: ${why}`);
  }
  return { tables: tablesOf(results, await versions(), { linkOf, same: 'No difference that was confirmed' }), leftOut };
}

const linkOf = (name: string) => `../tests/stacks/${stacks.find((stack) => stack.name === name)?.file}`;

async function tried(stack: Stack, results: (readonly [Library, ReturnType<typeof confirmedRows>])[]) {
  try {
    const rows = await tryStack(stack);
    results.push([stack, confirmedRows(rows, await confirm(stack))]);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** The tables of the page, as they are and as they would be written now. `bun run compare` writes them. */
test(`${page} has what the stacks do now, as far as this machine has them`, async () => {
  const { tables, leftOut } = await compare();
  for (const line of leftOut) console.log(`Left out: ${line}`);
  const text = await readText(page);
  const date = `Generated on ${new Date().toISOString().slice(0, 10)}`;
  const parts = `${tables.summary}\n\n${tables.rows}`;
  const written = replacePart(text, 'generated', parts).replace(/Generated on \S+/, date);
  if (process.env.WRITE_COMPARISON) await Bun.write(join(root, page), written);
  // A machine without a language compares nothing: its page is another.
  else if (leftOut.length === 0) expect(plainOf(written)).toBe(plainOf(text));
}, 3_600_000);
