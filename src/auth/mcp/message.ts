import type { PlainResponse } from '../guard/decision.ts';
import type { McpReason } from '../types.ts';
import { isJsonObject, isListOf } from '../values/json.ts';

/** A message of JSON-RPC 2.0, as far as it is checked. */
export interface McpMessage {
  /** That of a request, whose answer repeats it. */
  readonly id?: unknown;
  /** Such as `tools/call`. A response has none. */
  readonly method?: string;
  /** Such as the `name` of a tool. Not checked but for that, and for the IDs of tasks. */
  readonly params?: unknown;
}

/** What the application has parsed, or the parts of the body. */
export type MessageBody = { readonly parsed: unknown } | AsyncIterable<Part> | Iterable<Part>;
type Part = Uint8Array | string;

/** Why the endpoint itself rejects a request, by what is wrong: reason, status, code of JSON-RPC 2.0 and message. */
const rejections = {
  host: ['mcp_host', 403, -32_000, 'Host is not allowed: it is neither of publicUrl nor in hosts'],
  origin: ['mcp_origin', 403, -32_000, 'Origin is not allowed: it is not in origins'],
  method: ['mcp_method', 405, -32_000, 'Method not allowed without sessions'],
  session: ['mcp_session', 404, -32_001, 'Session not found'],
  size: ['mcp_size', 413, -32_600, 'Message is longer than maxBodyBytes'],
  message: ['mcp_message', 400, -32_600, 'Body is not a message or a list of up to 100 messages'],
  json: ['mcp_message', 400, -32_700, 'Body is not JSON'],
  task: ['mcp_task', 404, -32_602, 'Task not found'],
} as const satisfies Readonly<Record<string, readonly [McpReason, number, number, string]>>;

export type McpFault = keyof typeof rejections;

/** Returns a rejection with its reason: an error without `id`, as MCP requires. */
export function rejectionOf(fault: McpFault, more: PlainResponse['headers']) {
  const [reason, status, code, message] = rejections[fault];
  // RFC 9110 §15.1: some of these could be cached.
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', ...more };
  return { reason, status, headers, body: JSON.stringify({ jsonrpc: '2.0', error: { code, message } }) };
}

/** As in the SDKs. A longer batch takes seconds to check. */
const MAX_BATCH = 100;

/** Returns the message in a body, and those of a batch; or what is wrong with the body. */
export async function readMessages(body: MessageBody, maxBytes: number) {
  try {
    const decoder = new TextDecoder();
    let text = '';
    let bytes = 0;
    for await (const part of 'parsed' in body ? [] : body) {
      bytes += part.length;
      if (bytes > maxBytes) return 'size';
      text += typeof part === 'string' ? part : decoder.decode(part, { stream: true });
    }
    const message: unknown = 'parsed' in body ? body.parsed : JSON.parse(text + decoder.decode());
    const messages: readonly unknown[] = [message].flat();
    const isInBounds = messages.length > 0 && messages.length <= MAX_BATCH;
    return isInBounds && isListOf(messages, isMessage) ? { messages, message } : 'message';
  } catch {
    return 'json';
  }
}

/** A handler could take another name than a string for the name of a tool, or for the ID of a task. */
function isMessage(value: unknown): value is McpMessage {
  const { method, params } = Object(value);
  if (method === 'tools/call') return typeof Object(params).name === 'string';
  if (!isListOf(taskIdsOf(method, params), isString)) return false;
  return isJsonObject(value) && (method === undefined || typeof method === 'string');
}

/** Returns the name of the tool that a message calls. */
export const toolOf = ({ method, params }: McpMessage): string | undefined =>
  method === 'tools/call' ? String(Object(params).name) : undefined;

const taskMethod = /^tasks\/(?:get|result|update|cancel)$/;

/** Returns what should be the IDs of tasks. Who subscribes to a task gets its result (SEP-2663). */
function taskIdsOf(method: unknown, params: unknown): unknown {
  if (taskMethod.test(String(method))) return [Object(params).taskId];
  return (method === 'subscriptions/listen' ? Object(Object(params).notifications).taskIds : undefined) ?? [];
}

const isString = (value: unknown) => typeof value === 'string';

/** Returns the IDs of the tasks that a message is about. */
export const tasksOf = ({ method, params }: McpMessage): readonly string[] =>
  [taskIdsOf(method, params)].flat().map(String);

/** With these, a client begins, and shows what there is. Revision 2026-07-28 begins with `server/discover`. */
const publicMethods =
  /^(?:initialize|server\/discover|ping|notifications\/.*|(?:tools|prompts|resources|resources\/templates)\/list)$/s;

/** Whether a message that calls no tool needs no token, if a tool is public. */
export const isPublicMethod = ({ method = '' }: McpMessage): boolean => publicMethods.test(method);
