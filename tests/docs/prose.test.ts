import { expect, test } from 'bun:test';
import { pages, readText } from '../support/repository.ts';
import { sentencesOf, wordsOf } from './prose.ts';

/** The pages that people read; `bench` has results and their notes. */
const read = pages.filter((page) => !/^(?:bench\/|CHANGELOG)/.test(page));

test.each(read)('%s says one thing in a sentence, in words that are read once', async (page) => {
  const text = await readText(page);
  const sentences = sentencesOf(text);
  expect(sentences.filter((sentence) => wordsOf(sentence) > 25)).toEqual([]);
  // A rule is quoted where it is written.
  const own = page === 'CONTRIBUTING.md' ? [] : sentences;
  // What a noun stands for is said again.
  expect(own.filter((sentence) => /\bthose of\b/i.test(sentence))).toEqual([]);
  // Somebody gets a status: nothing is one, but a response.
  const isStatus = /\b(?:is|are|was) an? [45]\d\d\b/;
  expect(own.filter((sentence) => isStatus.test(sentence) && !/[Rr]esponse|\bit\b/.test(sentence))).toEqual([]);
});

test.each(read)('each row of a table in %s has as many cells as its head', async (page) => {
  const withoutCode = (await readText(page)).replaceAll(/^ *(`{3,}).*?^ *\1$/gms, '');
  for (const [table] of withoutCode.matchAll(/(?:^ *\|.*\n)+/gm)) {
    const cells = table
      .trim()
      .split('\n')
      .map((row) => row.replaceAll(/\\\||`[^`]*`/g, '').split('|').length);
    expect(new Set(cells).size, table).toBe(1);
  }
});

test.each(read)('calls in the text of %s use only variables that its blocks have', async (page) => {
  const text = await readText(page);
  const blocks = text.match(/^ *(`{3,}).*?^ *\1$/gms)?.join('\n') ?? '';
  const prose = text.replaceAll(/^ *(`{3,}).*?^ *\1$/gms, '');
  const calls = prose.matchAll(/\b(?:requireToken|checkIncoming|check|createGuard|resourceServer)\(([^()`]*)\)/g);
  const variables = Array.from(calls, ([, given = '']) => given.replaceAll(/\{.*?\}/g, '').split(/, */)).flat();
  const unknown = variables.filter((name) => /^[a-z]\w*$/i.test(name) && !new RegExp(`\\b${name}\\b`).test(blocks));
  expect(unknown.filter((name) => !/^(?:guard|request|undefined)$/.test(name))).toEqual([]);
});
