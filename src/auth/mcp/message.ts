import { isJsonObject } from '../values/json.ts';
import type { RequiredScope, readMcpOptions } from './options.ts';

/** A message of JSON-RPC 2.0, as far as it is checked. */
interface McpMessage {
  readonly method?: string;
  readonly params?: unknown;
}

/** A body, and the messages in it: one, or those of a batch. */
interface ReadMessage {
  readonly messages: readonly McpMessage[];
  readonly message?: unknown;
}

/** Returns the response to a request that no handler gets: an error of JSON-RPC 2.0 that has no `id`, as MCP wants it. */
export const rejectMessage = (status: number, code: number, message: string, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ jsonrpc: '2.0', error: { code, message } }), {
    status,
    // RFC 9110 §15.1: some of these could be cached.
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  });

/** Returns the message in the body of a request, or the response to a body that is none. */
export async function readMessage(
  readBody: (maxBytes: number) => Promise<unknown>,
  maxBytes: number,
): Promise<ReadMessage | Response> {
  let message: unknown;
  try {
    const body = await readBody(maxBytes);
    if (body === undefined) return rejectMessage(413, -32_600, 'Message is too long');
    message = typeof body === 'string' ? JSON.parse(body) : body;
  } catch {
    return rejectMessage(400, -32_700, 'Body is not JSON');
  }
  const messages: readonly unknown[] = [message].flat();
  return messages.length > 0 && messages.every(isMessage)
    ? { messages, message }
    : rejectMessage(400, -32_600, 'Body is not a message or a list of messages');
}

/** A handler could take another name than a string for the name of a tool. */
function isMessage(value: unknown): value is McpMessage {
  if (!isJsonObject(value)) return false;
  const { method, params } = value;
  if (method === 'tools/call') return typeof Object(params).name === 'string';
  return method === undefined || typeof method === 'string';
}

/** Returns the name of the tool that a message calls. */
const toolOf = ({ method, params }: McpMessage): string | undefined =>
  method === 'tools/call' ? String(Object(params).name) : undefined;

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

/** Returns a body as text, or undefined if it is longer than `maxBytes`. */
export async function readText(
  chunks: AsyncIterable<Uint8Array | string>,
  maxBytes: number,
): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
