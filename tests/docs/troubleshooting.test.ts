import { expect, test } from 'bun:test';
import { refusals } from '../../src/auth/refusals.ts';
import { readText } from '../support/repository.ts';

test('docs/troubleshooting.md says what to do for each reason, under the description that clients get', async () => {
  const entries = (await readText('docs/troubleshooting.md')).matchAll(/^### (\w+)\n\n> (.*)\n\n\S/gm);
  const described = Object.entries(refusals).map(([reason, { description }]) => [reason, description]);
  expect([...entries].map(([, reason, description]) => [reason, description]).toSorted()).toEqual(described.toSorted());
});
