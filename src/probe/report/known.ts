import type { ProbedRow } from './result.ts';

// Here a report learns which deviations are known.

/** Marks known deviations, and fails rows that no longer deviate at any target. */
export function withKnown(rows: readonly ProbedRow[], known: Readonly<Record<string, string>>): readonly ProbedRow[] {
  const deviates = ({ verdict }: ProbedRow) => verdict === 'failed' || verdict === 'warning';
  const found = new Set(rows.filter(deviates).map(({ id }) => id));
  return rows.map((row) => {
    const reason = known[row.id];
    if (reason === undefined) return row;
    if (deviates(row)) return { ...row, known: reason };
    if (row.verdict !== 'passed' || found.has(row.id)) return row;
    const got = `${row.got}: it passes again, remove it from the known deviations`;
    const remedy = 'Remove it from the known deviations';
    return { ...row, verdict: 'failed', got, remedy, ownCode: undefined, setting: undefined };
  });
}
