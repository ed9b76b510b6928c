import type { Breaks } from './break.ts';

const report = 'src/probe/report/report.ts';
const redact = 'src/probe/report/redact.ts';
const harm = 'src/probe/report/harm.ts';
const brake = 'src/probe/http/brake.ts';
const sender = 'src/probe/http/sender.ts';

/** Faults of `protected-api-probe`, by the test file that notices each. */
export const probeBreaks: Breaks = {
  'probe/advice': [
    ['a cause of what passed', 'src/probe/advice/causes.ts', 'rows.filter(isFault).map', 'rows.map'],
    ['documentation as a trial', 'src/probe/advice/advice.ts', ' (from its documentation)', ''],
  ],
  'probe/command': [
    [
      'an issuer of two kinds',
      'src/probe/command/flags.ts',
      'if (isServed && client !== undefined)',
      "if (isServed && client === '')",
    ],
    [
      'a failure is no exit status',
      'src/probe/command/run.ts',
      'isFailed && known === undefined ? 1',
      'isFailed && known === undefined ? 0',
    ],
  ],
  'probe/planted-mcp': [
    ['metadata of another resource', 'src/probe/mcp/mcp-metadata.ts', 'isText && isRight(named, trial)', 'isText'],
  ],
  'probe/planted-requests': [
    ['another path is the same', 'src/probe/requests/routes.ts', '(it) => it.toUpperCase()', '(it) => it'],
    ['no row fails', 'src/probe/row/topic.ts', 'outcome === fault', 'outcome !== outcome'],
  ],
  'probe/planted': [
    ['no fetch is counted', 'src/probe/issuer/served-issuer.ts', 'issuer.fetches += 1;', ''],
    [
      'a public operation is tried',
      'src/probe/options/openapi.ts',
      'if (why !== undefined) notTried',
      "if (why === '') notTried",
    ],
    ['no other audience', 'src/probe/tokens/identity.ts', "claims('aud', 'other', other)]", 'claims()]'],
    [
      'an open API is tried',
      'src/probe/run/target.ts',
      "if (bare.outcome === 'served') return",
      "if (bare.outcome === 'never') return",
    ],
    ['an expired token goes on', 'src/probe/run/target.ts', 'if (isOver !== undefined) sender.stop(isOver);', ''],
  ],
  'probe/judging': [
    ['any form is the content', 'src/probe/run/likeness.ts', 'if (formOf(answer) !== form) return undefined;', ''],
  ],
  'probe/sender': [
    [
      'server errors of others go on',
      brake,
      'isOther(url) && failures.errors >= max',
      'isOther(url) && failures.errors > 10 * max',
    ],
    ['a limit goes on', brake, 'if (failures.limited >= max)', 'if (failures.limited > 10 * max)'],
    ['no pause for others', sender, 'if (isOther(sent.url)) await pace();', ''],
    ['Retry-After as a date', sender, 'Number.isNaN(seconds) ? undefined : Math.max(0, seconds)', 'undefined'],
  ],
  'probe/report': [
    [
      'what is unclear has passed',
      'src/probe/row/topic.ts',
      "if (outcome === 'unclear') last",
      "if (outcome === 'never') last",
    ],
    ['a JWT of somebody', redact, "text.replace(jwt, '***')", 'text'],
    ['advice of no stack', harm, 'setting === undefined ? remedy', 'setting !== undefined ? remedy'],
    ['quotes in the XML', report, '/[&<>"]/g', '/[&<>]/g'],
    ['skipped is complete', report, 'inconclusive.length === 0 && isTried', 'inconclusive.length === 0'],
  ],
  'probe/hostile': [
    ['a token in the report', report, 'printable(redact(text), 1000)', 'printable(text, 1000)'],
    ['a terminal that a server controls', report, 'printable(redact(text), 1000)', 'redact(text).slice(0, 1000)'],
  ],
  'probe/harm': [
    ['nothing is let in', harm, '/^[123]\\d\\d\\b/.test(got)', '/^[45]\\d\\d\\b/.test(got)'],
    ['should is a must', harm, "return level === 'must' ? 3 : 6;", 'return 3;'],
  ],
  'probe/depth': [['quick without a limit', 'src/probe/run/choice.ts', '> limits[depth]) continue;', '< 0) continue;']],
};
