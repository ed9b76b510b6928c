import { type McpMessage, toolOf } from './message.ts';
import type { RequiredScope, readMcpOptions } from './options.ts';

type Rules = Pick<ReturnType<typeof readMcpOptions>, 'scope' | 'tools' | 'publicTools'>;

/** With these, a client begins, and shows what there is. Revision 2026-07-28 begins with `server/discover`. */
const publicMethods = [
  ...['initialize', 'server/discover', 'ping'],
  ...['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'],
];

/** Returns what messages require: functions of the messages of a request, and all scopes that there are. */
export function createMessageRules({ scope, tools, publicTools = [] }: Rules) {
  const scopes = [...new Set([scope, ...tools.values()].flatMap((each) => each?.names ?? []))];

  /**
   * Returns all scopes that are required, and if there are any, also the others that are granted: a client that requests what a
   * challenge names loses none of them.
   */
  function scopesFor(messages: readonly McpMessage[], granted: readonly string[]): readonly string[] {
    const isGranted = (name: string) => granted.includes(name);
    const namesOf = ({ names, isAny }: RequiredScope) => {
      const met = names.filter(isGranted);
      return isAny ? (met.length > 0 ? met : names.slice(0, 1)) : names;
    };
    const required = [scope, ...messages.map((each) => tools.get(toolOf(each) ?? ''))];
    const needed = required.flatMap((each) => (each ? namesOf(each) : []));
    return needed.length > 0 ? scopes.filter((name) => needed.includes(name) || isGranted(name)) : [];
  }

  /** Whether a request without a token may have this message. */
  function isPublic(message: McpMessage): boolean {
    const { method = '' } = message;
    const tool = toolOf(message);
    if (tool !== undefined) return publicTools.includes(tool);
    return publicMethods.includes(method) || method.startsWith('notifications/');
  }

  return { scopes, scopesFor, isPublic };
}
