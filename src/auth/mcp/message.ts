import { isJsonObject } from '../values/json.ts';

/** A message of JSON-RPC 2.0, as far as it is checked. */
export interface McpMessage {
  readonly method?: string;
  readonly params?: unknown;
}

/** A body, and the messages in it: one, or those of a batch. */
interface ReadMessage {
  readonly messages: readonly McpMessage[];
  readonly message?: unknown;
}

/** Returns the response to a request that no handler gets, in the form of JSON-RPC 2.0. */
export const rejectMessage = (status: number, code: number, message: string, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }), {
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
export const toolOf = ({ method, params }: McpMessage): string | undefined =>
  method === 'tools/call' ? String(Object(params).name) : undefined;

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
