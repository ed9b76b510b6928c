import { groupBy } from '../values/group-by.ts';
import { stacks } from './stacks.ts';
import { topicOf } from './topics.ts';

// Here a row learns what to set in the reader's stack.

/** The names that a run can have as its stack. */
export const stackNames: readonly string[] = Object.keys(stacks);

const either = new Intl.ListFormat('en', { type: 'disjunction' });

/** Returns what to set for a row: in the stack that was named, or in those that a header of the server suggests. */
export function settingOf(id: string, named: string | undefined, headers: Headers): string | undefined {
  const topic = topicOf(id);
  const said = `${headers.get('server') ?? ''} ${headers.get('x-powered-by') ?? ''}`;
  const likely = stackNames.flatMap((name) => {
    const stack = stacks[name];
    const header = stack?.says?.exec(said)?.[0];
    const cell = topic && stack?.settings[topic];
    if (!stack || !cell || (named === undefined ? header === undefined : named !== name)) return [];
    return [{ name: stack.name, header, cell }];
  });
  const [first] = likely;
  if (!first) return undefined;
  const parts = [...groupBy(likely, ({ cell }) => cell)].map(([cell, group]) => {
    const setting = cell.startsWith('*') ? cell.slice(1) : `${cell} (from its documentation)`;
    return `In ${either.format(group.map(({ name }) => name))}: ${setting}`;
  });
  return [...(named === undefined ? [`A header says ${first.header}`] : []), ...parts].join('. ');
}
