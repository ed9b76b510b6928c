import { heapStats } from 'bun:jsc';
import { expect, test } from 'bun:test';
import { createChecker } from '../support/checked.ts';
import { mintToken, signingKeys } from '../support/mint.ts';

const TOKENS = 200_000;
/** Most of it is for 10,000 names, with their tokens' garbage that is not collected yet. */
const MAX_GROWTH_MB = 16;

const issuers = Array.from({ length: 100 }, (_, index) => `https://customer-${index}.example.test/`);
const heapMb = () => {
  Bun.gc(true);
  return heapStats().heapSize / 1024 / 1024;
};

test(`${TOKENS} tokens of invented issuers cost one lookup each, little memory, and no known issuer`, async () => {
  const lookups = new Map<number, number>();
  let known = 0;
  const check = createChecker({
    async issuer(iss) {
      const invented = Number(/invented-(\d+)/.exec(iss)?.[1] ?? -1);
      if (invented < 0) known += 1;
      else lookups.set(invented, (lookups.get(invented) ?? 0) + 1);
      return invented < 0 ? { issuer: iss, keys: { keys: signingKeys() } } : undefined;
    },
    keys: undefined,
  });
  const tokens = issuers.map((issuer) => mintToken(issuer));
  for (const token of tokens) expect((await check(token)).reason).toBeUndefined();
  const [header, payload = '', signature] = mintToken('https://invented-0.example.test/').split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const padding = 'x'.repeat(400);
  for (let index = 0; index < TOKENS; index += 1) lookups.set(index, 0);
  const before = heapMb();
  for (let index = 0; index < TOKENS; index += 50) {
    const batch = Array.from({ length: 50 }, (_, offset) => {
      const iss = `https://invented-${index + offset}.example.test/${padding}`;
      return `${header}.${Buffer.from(JSON.stringify({ ...claims, iss })).toString('base64url')}.${signature}`;
    });
    // Each twice, at once and again.
    const results = await Promise.all([...batch, ...batch].map((token) => check(token)));
    for (const token of batch.slice(0, 5)) results.push(await check(token));
    for (const { reason } of results) expect(reason).toBe('issuer_mismatch');
    expect((await check(tokens[(index / 50) % tokens.length] ?? '')).reason).toBeUndefined();
  }
  const growth = heapMb() - before;
  console.log(`The heap grew by ${growth.toFixed(1)} MB`);
  expect(growth).toBeLessThan(MAX_GROWTH_MB);
  expect([known, check.core.state().issuers.length]).toEqual([issuers.length, issuers.length]);
  expect([...lookups.values()].every((count) => count === 1)).toBe(true);
});
