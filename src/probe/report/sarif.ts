import { printable } from '../values/text.ts';
import { adviceOf } from './harm.ts';
import type { ProbedRow, ProbeReport } from './result.ts';

// Here a report is written in SARIF 2.1.0, which code hosts show beside the code.

const ruleOf = (row: ProbedRow) => ({
  id: row.id,
  shortDescription: { text: `Sent ${row.sent}, expected ${row.expected}` },
  fullDescription: { text: `Required by ${row.rule}` },
  help: { text: adviceOf(row) + (row.ownCode === undefined ? '' : `. In your own code: ${row.ownCode}`) },
});

/** The path of a target, because a code host takes no URL for the place of a result. */
const placeOf = (target: string) => /^\S+ https?:\/\/[^/]*\/?([^?#]*)/.exec(target)?.[1] || 'api';

/** Returns the faults of a run. What is known is suppressed, with its reason. */
export function sarifOf({ rows, failed, warnings }: ProbeReport): string {
  const faults = new Set([...failed, ...warnings, ...rows.filter(({ known }) => known !== undefined)]);
  const rules = new Map<string, ReturnType<typeof ruleOf>>();
  for (const row of faults) if (!rules.has(row.id)) rules.set(row.id, ruleOf(row));
  const results = [...faults].map((row) => ({
    ruleId: row.id,
    level: row.level === 'must' ? 'error' : 'warning',
    message: { text: `Sent ${row.sent} to ${row.target}. Got ${row.got}, expected ${row.expected}. ${adviceOf(row)}` },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri: placeOf(row.target) }, region: { startLine: 1 } },
        logicalLocations: [{ fullyQualifiedName: row.target, kind: 'resource' }],
      },
    ],
    partialFingerprints: { rowAndTarget: `${row.id} ${row.target}` },
    ...(row.known !== undefined && { suppressions: [{ kind: 'external', justification: row.known }] }),
  }));
  const driver = { name: 'protected-api-probe', rules: [...rules.values()] };
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver }, results }],
  };
  return `${JSON.stringify(log, (_, value: unknown) => (typeof value === 'string' ? printable(value, 2000) : value), 2)}\n`;
}
