import { describe, expect, test } from 'bun:test';
import { RecentMap } from '../../../src/auth/values/recent-map.ts';
import { seeded } from '../../support/seeded.ts';

describe('RecentMap', () => {
  test('evicts what was used least recently, once it has too many entries or bytes', () => {
    const evicted: unknown[] = [];
    const map = new RecentMap<number>(3, 10);
    map.onEvict = (...entry) => evicted.push(entry);
    for (const [at, key] of ['a', 'b', 'c'].entries()) map.set(key, at, 2);
    expect([map.get('a'), map.peek('b'), map.oldest]).toEqual([0, 1, 1]);
    map.set('d', 3);
    expect([[...map], evicted]).toEqual([
      [
        ['d', 3],
        ['a', 0],
        ['c', 2],
      ],
      [['b', 1]],
    ]);
    map.set('a', 4, 9);
    expect([[...map], map.bytes, map.size]).toEqual([
      [
        ['a', 4],
        ['d', 3],
      ],
      9,
      2,
    ]);
    map.set('e', 5, 11);
    expect([[...map], map.bytes, map.oldest, map.get('a')]).toEqual([[], 0, undefined, undefined]);
    expect(evicted.slice(1)).toEqual([
      ['c', 2],
      ['d', 3],
      ['a', 4],
      ['e', 5],
    ]);
  });

  test('does what a list does that is searched from the end, in 20,000 random steps', () => {
    const random = seeded(7);
    const map = new RecentMap<number>(20, 100);
    let list: [key: string, value: number, bytes: number][] = [];
    const find = (key: string) => list.find(([each]) => each === key);
    for (let step = 0; step < 20_000; step += 1) {
      const key = `k${random(40)}`;
      const found = find(key);
      const choice = random(10);
      if (choice < 4) {
        expect(map.get(key)).toBe(found?.[1] as number);
        if (found) list = [...list.filter((each) => each !== found), found];
      } else if (choice < 8) {
        const bytes = random(12);
        map.set(key, step, bytes);
        list = [...list.filter((each) => each !== found), [key, step, bytes]];
        while (list.length > 20 || list.reduce((sum, [, , each]) => sum + each, 0) > 100) list.shift();
      } else if (choice < 9) {
        map.delete(key);
        list = list.filter((each) => each !== found);
      } else expect(map.peek(key)).toBe(found?.[1] as number);
      expect([map.size, map.bytes, map.oldest]).toEqual([
        ...[list.length, list.reduce((sum, [, , each]) => sum + each, 0), list[0]?.[1] as number],
      ]);
    }
    expect([...map]).toEqual(list.toReversed().map(([key, value]) => [key, value] as const));
  });
});
