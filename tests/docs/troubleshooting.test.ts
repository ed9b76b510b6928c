import { expect, test } from 'bun:test';
import { rejections } from '../../src/auth/rejections.ts';
import { readText } from '../support/repository.ts';

const site = 'https://protected-api.github.io/protected-api/operations#';
interface Group {
  rules: readonly { alert: string; annotations: { runbook_url?: string } }[];
}

test('docs/troubleshooting.md says what to do for each reason, under the description that clients get', async () => {
  const entries = (await readText('docs/troubleshooting.md')).matchAll(/^### (\w+)\n\n> (.*)\n\n\S/gm);
  const described = Object.entries(rejections).map(([reason, { description }]) => [reason, description]);
  expect([...entries].map(([, reason, description]) => [reason, description]).toSorted()).toEqual(described.toSorted());
  const index = (await readText('docs/troubleshooting.md')).matchAll(/^\| (\S.*?) +\| \[`(\w+)`\]\(#\2\) +\|$/gm);
  const byText = Array.from(index, ([, description, reason]) => [reason, description]);
  const folded = (row: readonly unknown[]) => String(row[1]).toLowerCase();
  expect(byText).toEqual(described.toSorted((a, b) => (folded(a) < folded(b) ? -1 : 1)));
});

test('docs/operations.md says what to do for each alert, below a heading to which its runbook_url leads', async () => {
  const { groups } = Bun.YAML.parse(await readText('deploy/prometheus/alerts.yaml')) as { groups: readonly Group[] };
  const alerts = groups.flatMap(({ rules }) => rules.map((rule) => [rule.alert, rule.annotations.runbook_url ?? '']));
  const sections = (await readText('docs/operations.md')).matchAll(/^### (\w+)\n\n\w.*\.\n\n1\. \w.*\n2\. \w/gm);
  const explained = Array.from(sections, ([, alert = '']) => [alert, `${site}${alert.toLowerCase()}`]);
  expect(alerts.length).toBeGreaterThan(10);
  expect(explained).toEqual(alerts);
});
