import { Buffer } from 'node:buffer';
import { ifPossible } from '../values/faults.ts';
import { isJsonObject } from '../values/json.ts';

/** A request to the token endpoint, before the client is authenticated. */
export type TokenRequest = Awaited<ReturnType<typeof readTokenRequest>>;

/** An error response of the token endpoint (RFC 6749 §5.2, RFC 8707 §2, RFC 9449 §5). */
export class GrantError extends Error {
  constructor(
    readonly error:
      | 'invalid_request'
      | 'invalid_client'
      | 'unsupported_grant_type'
      | 'invalid_target'
      | 'invalid_dpop_proof',
    readonly description: string,
  ) {
    super(error);
  }
}

/**
 * Reads the client's credentials from the Authorization header or from the body, but never from both (RFC 6749 §2.3.1).
 * @throws {GrantError} the request is malformed
 */
export async function readTokenRequest(request: Request) {
  const parameters = await readParameters(request);
  const authorization = request.headers.get('authorization');
  if (!authorization) {
    return {
      parameters,
      clientId: parameters.get('client_id') ?? '',
      clientSecret: parameters.get('client_secret') ?? '',
    };
  }
  if (parameters.has('client_secret'))
    throw new GrantError('invalid_request', 'Client credentials must be in the header or in the body, not in both');
  const [, credentials] = /^basic +([a-z\d+/]+={0,2})$/i.exec(authorization) ?? [];
  if (credentials === undefined)
    throw new GrantError('invalid_client', 'Authorization header must have the Basic scheme and base64 credentials');
  // Only the first colon separates: the rest is part of the secret (RFC 7617 §2).
  const [, id = '', secret = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(credentials, 'base64').toString()) ?? [];
  return { parameters, clientId: decodeFormValue(id), clientSecret: decodeFormValue(secret) };
}

const form = 'application/x-www-form-urlencoded';

async function readParameters(request: Request): Promise<ReadonlyMap<string, string>> {
  const { headers } = request;
  const [mediaType = ''] = (headers.get('content-type') ?? '').split(';');
  const isJson = mediaType.trim().toLowerCase() === 'application/json';
  if ((!isJson && mediaType.trim().toLowerCase() !== form) || headers.has('content-encoding'))
    throw new GrantError('invalid_request', `Content-Type must be ${form} or application/json, without an encoding`);
  const text = await request.text();
  const entries = isJson ? readJsonFields(text) : [...new URLSearchParams(text)];
  const parameters = new Map(entries);
  if (parameters.size !== entries.length) throw new GrantError('invalid_request', 'Parameters must not be repeated');
  return parameters;
}

function readJsonFields(text: string): [string, string][] {
  const body: unknown = ifPossible(() => JSON.parse(text));
  if (!isJsonObject(body)) throw new GrantError('invalid_request', 'Body must be a JSON object');
  return Object.entries(body).map(([name, value]) => {
    if (typeof value !== 'string') throw new GrantError('invalid_request', 'Parameters must be strings');
    return [name, value];
  });
}

function decodeFormValue(value: string): string {
  return new URLSearchParams(`value=${value.replaceAll('&', '%26')}`).get('value') ?? '';
}
