import { describeRejections, type Rejection } from 'protected-api/guard';
import { failures } from '../http/responses.ts';
import type { DescribedApi, ResponseObject } from './about.ts';

/** By status; `default` stands for the errors that any request can get. */
const groupDescriptions: Readonly<Record<string, string>> = {
  401: 'The access token is missing or invalid',
  403: 'The access token does not have the required scope',
  503: 'Tokens cannot be verified at the moment',
  default: 'Any other error',
};

const headerDescriptions: Readonly<Record<string, string>> = {
  'WWW-Authenticate': 'Challenge that names the problem (RFC 6750 section 3)',
  'Retry-After': 'Seconds to wait before the next request',
};

/** An error response as a client gets it. `name` distinguishes it from others with its code. */
export interface DescribedError extends Pick<Rejection, 'status' | 'description' | 'headers'> {
  readonly name: string;
  readonly code: string;
}

/** Returns all error responses of a route that requires these scopes, which are written as clients request them. */
export function errorsOf({ guard, options }: DescribedApi, scopes: readonly string[]): readonly DescribedError[] {
  const { scopePrefix = '', scopeRequestPrefix = scopePrefix } = options;
  const scope = scopes.map((name) => name.slice(scopeRequestPrefix.length));
  const rejections = describeRejections(guard, scope.length > 0 ? { scope } : {});
  return [
    ...rejections.map(({ reason, status, headers, body }) => ({
      name: reason,
      status,
      headers,
      ...(body as Pick<DescribedError, 'code' | 'description'>),
    })),
    ...Object.entries(failures).map(([code, failure]) => ({ name: code, code, headers: {}, ...failure })),
  ];
}

/** Returns the schema of these errors. */
export const errorSchemaOf = (errors: readonly DescribedError[]) => ({
  title: 'Error',
  type: 'object',
  required: ['code', 'description'],
  properties: {
    code: {
      type: 'string',
      description: 'Machine-readable error code',
      enum: [...new Set(errors.map(({ code }) => code))],
    },
    description: { type: 'string', description: 'Human-readable explanation' },
  },
});

/** Returns the response for those of these errors that have the status, with an example of each; undefined for other statuses. */
export function describeErrors(status: string, errors: readonly DescribedError[]): ResponseObject | undefined {
  const description = groupDescriptions[status];
  if (description === undefined) return undefined;
  const examples = errors.filter(
    (error) => status === (groupDescriptions[error.status] ? String(error.status) : 'default'),
  );
  const headers = Object.entries(headerDescriptions).flatMap(([header, meaning]) => {
    const sent = examples.flatMap(({ name, headers: { [header.toLowerCase()]: value } }) =>
      value === undefined ? [] : [[name, { value }] as const],
    );
    if (sent.length === 0) return [];
    return [
      [header, { description: meaning, schema: { type: 'string' }, examples: Object.fromEntries(sent) }] as const,
    ];
  });
  const bodies = examples.map(({ name, code, description: summary }) => {
    return [name, { summary, value: { code, description: summary } }] as const;
  });
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
