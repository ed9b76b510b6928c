import { describeRejections, describeResponses } from 'protected-api';
import { failures } from '../http/responses.ts';
import type { DescribedApi, ResponseObject } from './about.ts';

/** By status; `default` stands for the errors that any request can get. */
const groupDescriptions: Readonly<Record<string, string>> = {
  401: 'The access token is missing or invalid',
  403: 'The access token does not have the required scope',
  503: 'Tokens cannot be verified at the moment',
  default: 'Any other error',
};

/** An error response as a client gets it. `name` distinguishes it from others with its code. */
export interface DescribedError {
  readonly name: string;
  readonly status: number;
  readonly code: string;
  readonly description: string;
}

/** Returns all error responses of a route that requires these scopes, which are written as clients request them. */
export function errorsOf(api: DescribedApi, scopes: readonly string[]): readonly DescribedError[] {
  const rejections = describeRejections(api.guard, requiring(api, scopes));
  return [
    ...rejections.map(({ reason, status, body }) => ({
      ...{ name: reason, status },
      ...(body as Pick<DescribedError, 'code' | 'description'>),
    })),
    ...Object.entries(failures).map(([code, failure]) => ({ name: code, code, ...failure })),
  ];
}

function requiring(
  { options: { scopePrefix = '', scopeRequestPrefix = scopePrefix } }: DescribedApi,
  scopes: readonly string[],
) {
  return scopes.length > 0 ? { scope: scopes.map((name) => name.slice(scopeRequestPrefix.length)) } : {};
}

/** Returns the schema of these errors. */
export const errorSchemaOf = (errors: readonly DescribedError[]) => ({
  title: 'ErrorObject',
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

/** Returns the response with this status on a route that requires these scopes; undefined if it is no error. */
export function describeErrors(
  status: string,
  api: DescribedApi,
  scopes: readonly string[] = [],
): ResponseObject | undefined {
  const description = groupDescriptions[status];
  if (description === undefined) return undefined;
  const schema = { $ref: '#/components/schemas/ErrorObject' };
  const { headers, content } = describeResponses(api.guard, requiring(api, scopes))[status] ?? {};
  const { examples = failureExamples } = content?.['application/json'] ?? {};
  return { description, ...(headers && { headers }), content: { 'application/json': { schema, examples } } };
}

const failureExamples = Object.fromEntries(
  Object.entries(failures).map(([code, { description }]) => [
    code,
    { summary: description, value: { code, description } },
  ]),
);
