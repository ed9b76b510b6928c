import type { Rejection } from 'protected-api/guard';
import { failures } from '../http/responses.ts';

type Headers = Readonly<Record<string, string>>;

/** Returns the rejections of a route that requires these scopes. */
export type RejectionsOf = (scopes: readonly string[]) => readonly Rejection[];

/** Names in `components.responses` of the responses that several operations share. */
export const sharedResponses = { 401: 'Unauthorized', 503: 'KeySetUnavailable', default: 'UnexpectedError' } as const;

const descriptions = {
  401: 'The access token is missing or invalid',
  403: 'The access token does not have the required scope',
  503: 'Signing keys are currently unavailable, so tokens cannot be validated',
} as const;

const headerDescriptions: Readonly<Record<string, string>> = {
  'WWW-Authenticate': 'Challenge that names the problem (RFC 6750 section 3)',
  'Retry-After': 'Seconds to wait before the next request',
};

/** Returns all error responses of routes that require these scopes, and of those that require none. */
export function errorsOf(rejectionsOf: RejectionsOf, scopes: readonly string[]) {
  return [...rejectionsOf(scopes), ...Object.values(failures)];
}

/** Returns the schema of every error response. */
export const errorSchemaOf = (rejectionsOf: RejectionsOf, scopes: readonly string[]) => ({
  title: 'Error',
  type: 'object',
  required: ['code', 'description'],
  properties: {
    code: {
      type: 'string',
      description: 'Machine-readable error code',
      enum: [...new Set(errorsOf(rejectionsOf, scopes).map(({ code }) => code))],
    },
    description: { type: 'string', description: 'Human-readable explanation' },
  },
});

/** Returns `components.responses`: the responses that do not depend on the operation. */
export function describeShared(rejectionsOf: RejectionsOf): Readonly<Record<string, object>> {
  const unexpected = Object.entries(failures).map(([name, { code, description }]) => ({
    name,
    body: { code, description },
    headers: {},
  }));
  return {
    [sharedResponses[401]]: describeRejection(401, rejectionsOf([])),
    [sharedResponses[503]]: describeRejection(503, rejectionsOf([])),
    [sharedResponses.default]: toResponse('Any other error', unexpected),
  };
}

/** Returns the response of a status for rejected requests, with an example for each reason. */
export function describeRejection(status: 401 | 403 | 503, rejections: readonly Rejection[]): object {
  const examples = rejections
    .filter((rejection) => rejection.status === status)
    .map(({ reason, code, description, headers }) => ({ name: reason, body: { code, description }, headers }));
  return toResponse(descriptions[status], examples);
}

interface Example {
  readonly name: string;
  readonly body: { readonly code: string; readonly description: string };
  readonly headers: Headers;
}

function toResponse(description: string, examples: readonly Example[]): object {
  const headers = Object.entries(headerDescriptions).flatMap(([name, text]) => {
    const values = examples.map((example) => [example.name, { value: example.headers[name.toLowerCase()] }] as const);
    const sent = values.filter(([, { value }]) => value !== undefined);
    if (sent.length === 0) return [];
    return [[name, { description: text, schema: { type: 'string' }, examples: Object.fromEntries(sent) }]];
  });
  const bodies = examples.map(({ name, body }) => [name, { summary: body.description, value: body }]);
  return {
    description,
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(bodies),
      },
    },
  };
}
