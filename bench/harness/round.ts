import { type Case, type CaseName, groups } from './cases.ts';
import { type Contestant, type Context, startContestant } from './contestants.ts';
import { type Measurement, measure, type Subject } from './measure.ts';

type NamedCase = Case & { readonly name: CaseName };

/** Starts a fresh process of each server, and goes through the cases with all of them. */
export async function runRound(
  round: number,
  contestants: readonly Contestant[],
  cases: readonly NamedCase[],
  context: Context,
  seconds: number,
): Promise<Measurement[]> {
  const subjects: Subject[] = [];
  const measurements: Measurement[] = [];
  try {
    for (const contestant of contestants.filter(({ isPeer }) => round === 0 || !isPeer))
      subjects.push({ contestant, server: await startContestant(contestant, context), sent: new Map() });
    // Everyone starts a case as often as the others.
    const first = round % subjects.length;
    const order = [...subjects.slice(first), ...subjects.slice(0, first)];
    for (const group of groups) {
      const turns = group
        .filter(({ name }) => cases.some((one) => one.name === name))
        .flatMap((testCase) =>
          order
            .filter(({ contestant }) => contestant.cases.includes(testCase.name))
            .map((subject) => ({ testCase, subject })),
        );
      measurements.push(...(await measure(turns, context, seconds)));
    }
  } finally {
    await Promise.all(subjects.map(({ server }) => server.stop()));
  }
  return measurements;
}
