import { type RefusalDetail, type RefusalReason, refusals } from '../auth/refusals.ts';
import { failures } from '../http/answers.ts';

type Headers = Readonly<Record<string, string>>;

/** Returns the headers of a rejection, or undefined for a reason that cannot occur with the settings of the service. */
export type RefusalHeaders = (reason: RefusalReason, detail: RefusalDetail) => Headers | undefined;

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

/** Returns all error responses. */
export function errorsOf(refusalHeaders: RefusalHeaders) {
  const reasons = (Object.keys(refusals) as RefusalReason[]).filter((reason) => refusalHeaders(reason, {}));
  return [...reasons.map((reason) => refusals[reason]), ...Object.values(failures)];
}

/** Returns the schema of every error response. */
export const errorSchemaOf = (refusalHeaders: RefusalHeaders) => ({
  title: 'Error',
  type: 'object',
  required: ['code', 'description'],
  properties: {
    code: {
      type: 'string',
      description: 'Machine-readable error code',
      enum: [...new Set(errorsOf(refusalHeaders).map(({ code }) => code))],
    },
    description: { type: 'string', description: 'Human-readable explanation' },
  },
});

/** Returns `components.responses`: the responses that do not depend on the operation. */
export function describeShared(refusalHeaders: RefusalHeaders): Readonly<Record<string, object>> {
  const unexpected = Object.entries(failures).map(([name, { code, description }]) => ({
    name,
    body: { code, description },
    headers: {},
  }));
  return {
    [sharedResponses[401]]: describeRefusal(401, refusalHeaders),
    [sharedResponses[503]]: describeRefusal(503, refusalHeaders),
    [sharedResponses.default]: toResponse('Any other error', unexpected),
  };
}

/** Returns the response of a status for rejected requests, with an example for each reason. */
export function describeRefusal(
  status: 401 | 403 | 503,
  refusalHeaders: RefusalHeaders,
  scopes?: readonly string[],
): object {
  const reasons = (Object.keys(refusals) as RefusalReason[]).filter((reason) => refusals[reason].status === status);
  const examples = reasons.flatMap((name) => {
    const { code, description } = refusals[name];
    const headers = refusalHeaders(name, { ...(scopes && { scopes }), retryAfterSeconds: 30 });
    return headers ? [{ name, body: { code, description }, headers }] : [];
  });
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
