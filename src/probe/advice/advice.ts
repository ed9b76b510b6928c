import { stacks } from './stacks.ts';
import { type Stack, topicOf } from './topics.ts';

// Here a row learns what to set in the reader's stack.

/** The names that a run can have as its stack. */
export const stackNames: readonly string[] = Object.keys(stacks);

/** Returns the name of the stack that a server says it is, or undefined. A server of a language may have others. */
export function stackOf(headers: Headers): string | undefined {
  const said = `${headers.get('server') ?? ''} ${headers.get('x-powered-by') ?? ''}`;
  return stackNames.find((name) => stacks[name]?.says?.test(said));
}

/** Returns what to set for a row: in a stack that was named, or in the one that the server is likely to have. */
export function settingOf(id: string, named: string | undefined, said: string | undefined): string | undefined {
  const stack: Stack | undefined = stacks[named ?? said ?? ''];
  const topic = topicOf(id);
  const cell = topic && stack?.settings[topic];
  if (cell === undefined || stack === undefined) return undefined;
  const isTried = cell.startsWith('*');
  const where =
    named === undefined ? `If it is ${stack.name}, as the headers of the server suggest` : `In ${stack.name}`;
  return `${where}: ${isTried ? cell.slice(1) : `${cell} (from its documentation)`}`;
}
