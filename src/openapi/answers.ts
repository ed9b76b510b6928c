import { type RefusalReason, RefusedError, refusals } from '../auth/refusal.ts';
import { errorObject } from '../auth/resource-server.ts';
import { createCommonHeaders, failures } from '../http/answers.ts';

type Headers = Readonly<Record<string, string>>;

/** Makes the headers of a refusal, for the document as for a request. */
export type RefusalHeaders = (refused: RefusedError) => Headers;

/** One answer that the service can give. */
interface Example {
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Headers;
}

const descriptions: Readonly<Record<string, string>> = {
  200: 'Success',
  401: 'There is no token, or it is not valid',
  403: 'The token is valid but lacks the scope',
  503: "The issuer's keys cannot be had, so no token can be judged",
};

/** How a header is written for people, and what it tells. */
const headerTexts: Readonly<Record<string, readonly [name: string, description: string]>> = {
  allow: ['Allow', 'The methods that the path takes'],
  'cache-control': ['Cache-Control', 'No answer may be stored'],
  'retry-after': ['Retry-After', 'Seconds until the keys are asked for again'],
  'www-authenticate': ['WWW-Authenticate', 'A Bearer challenge (RFC 6750 section 3)'],
};

/** Returns the response object of a status that a route's own schema declares, with an example for each reason that leads to it. */
export function describeDeclared(
  status: string,
  schema: { readonly examples?: readonly Example['body'][] },
  detail: { readonly scope: string | undefined; readonly refusalHeaders: RefusalHeaders },
): object {
  const refused = (Object.keys(refusals) as RefusalReason[])
    .filter((reason) => String(refusals[reason].status) === status)
    .map((name): Example => {
      const { code, description } = refusals[name];
      const scope = name === 'scope_insufficient' ? detail.scope : undefined;
      const refusal = new RefusedError(name, { ...(scope && { scope }), retryAfterSeconds: 30 });
      return { name, body: { code, description }, headers: detail.refusalHeaders(refusal) };
    });
  const { examples = [], ...shape } = schema;
  const succeeded = examples.map((body): Example => ({ name: 'success', body }));
  return toResponse(descriptions[status] ?? `Status ${status}`, shape, [...succeeded, ...refused]);
}

/** Returns the response objects that every path has, whatever its routes declare. */
export function describeFailures(allow: string): Readonly<Record<string, object>> {
  const describe = (name: keyof typeof failures, description: string, headers: Headers = {}) => {
    const { status, ...body } = failures[name];
    return { [status]: toResponse(description, errorObject(body.code), [{ name, body, headers }]) };
  };
  return {
    ...describe('method_not_allowed', 'The path does not take the method of the request', { allow }),
    ...describe('internal_error', 'Something went wrong, and nothing is told of it'),
  };
}

/** Every answer is of this one form, so what differs between the answers of a status is in its examples. */
function toResponse(description: string, schema: object, examples: readonly Example[]): object {
  const bodies = examples.map(({ name, body }) => [name, { summary: body.description, value: body }]);
  const sent = examples.map(({ name, headers }) => {
    const all: Headers = { 'cache-control': createCommonHeaders()['cache-control'], ...headers };
    return { name, headers: all };
  });
  const headerNames = new Set(sent.flatMap(({ headers }) => Object.keys(headers)));
  const headers = [...headerNames].map((header) => {
    const values = sent.map(({ name, headers: { [header]: value } }) => [name, { value }] as const);
    const isConstant = new Set(values.map(([, { value }]) => value)).size === 1;
    const shown = isConstant ? { example: values[0]?.[1].value } : { examples: Object.fromEntries(values) };
    const [name = header, text] = headerTexts[header] ?? [];
    return [name, { description: text, schema: { type: 'string' }, ...shown }];
  });
  return {
    description,
    headers: Object.fromEntries(headers),
    content: { 'application/json': { schema, examples: Object.fromEntries(bodies) } },
  };
}
