import { type Case, type CaseName, groups } from './cases.ts';
import { type Contestant, type Context, startContestant } from './contestants.ts';
import { type Measurement, measure, type Subject, warmUp } from './measure.ts';

type NamedCase = Case & { readonly name: CaseName };

/** Starts a fresh process of each server, warms it up with all cases, and measures all servers case by case. */
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
    const turnsOf = (name: CaseName, inOrder: readonly Subject[]) =>
      cases.flatMap((testCase) =>
        inOrder
          .filter(({ contestant }) => testCase.name === name && contestant.cases.includes(name))
          .map((subject) => ({ testCase, subject })),
      );
    // Not the outage, because a server may take long to recover from it.
    for (const { name, isOutage } of cases)
      for (const turn of isOutage ? [] : turnsOf(name, subjects)) await warmUp(turn, context);
    // Everyone starts a case as often as the others.
    const first = round % subjects.length;
    const order = [...subjects.slice(first), ...subjects.slice(0, first)];
    for (const group of groups)
      measurements.push(
        ...(await measure(
          group.flatMap(({ name }) => turnsOf(name, order)),
          context,
          seconds,
        )),
      );
  } finally {
    await Promise.all(subjects.map(({ server }) => server.stop()));
  }
  return measurements;
}
