import type { Guard, GuardOptions, Requirements } from '../types.ts';
import { groupBy } from '../values/group-by.ts';
import { describeRejections, type Rejection } from './describe-rejections.ts';
import { schemaOf } from './schema-of.ts';

/** A response in an OpenAPI document. */
export interface DescribedResponse {
  /** What the status means. */
  readonly description: string;
  /** The headers that tell a client what to do, by name. */
  readonly headers: Readonly<Record<string, DescribedHeader>>;
  /** The body, by media type, with an example for each reason. */
  readonly content: Readonly<Record<string, { readonly schema: object; readonly examples: Examples }>>;
}

/** `required` if every response with the status has the header. */
interface DescribedHeader {
  readonly description: string;
  readonly required?: true;
  readonly schema: { readonly type: 'string' };
  readonly examples: Examples;
}

/** The value for each reason: of a header, or a whole body. */
type Examples = Readonly<Record<string, { readonly summary?: string; readonly value: unknown }>>;

/**
 * Returns the rejections of `describeRejections` as the `responses` of an OpenAPI operation, by status, to add to its
 * own.
 * @example
 * const responses = { 200: { description: 'All orders' }, ...describeResponses(guard, { scope: 'read:orders' }) };
 * @throws {TypeError} an option or a requirement is not valid
 */
export function describeResponses(
  given: GuardOptions | Guard,
  requirements?: Requirements,
): Readonly<Record<string, DescribedResponse>> {
  return responsesFor(describeRejections(given, requirements));
}

/** Returns these rejections as the `responses` of an OpenAPI operation. */
export function responsesFor(rejections: readonly Rejection[]): Readonly<Record<string, DescribedResponse>> {
  const byStatus = [...groupBy(rejections, ({ status }) => status)].map(([status, sent]) => {
    const content = [...groupBy(sent, ({ contentType }) => contentType)].map(([type, alike]) => [
      type,
      {
        schema: schemaOf(alike.map(({ body }) => body)),
        examples: Object.fromEntries(
          alike.map(({ reason, description, body }) => [reason, { summary: description, value: body }]),
        ),
      },
    ]);
    const description = statusDescriptions[status] ?? 'Rejected';
    return [status, { description, headers: headersOf(sent), content: Object.fromEntries(content) }] as const;
  });
  return Object.fromEntries(byStatus);
}

const statusDescriptions: Readonly<Record<number, string>> = {
  400: 'The Authorization header is malformed',
  401: 'The access token is missing or is not accepted',
  403: 'This access token may not make this request',
  503: 'The access token cannot be checked at the moment',
};

const headerDescriptions = {
  'WWW-Authenticate': 'What the client needs (RFC 9110 section 11.6.1)',
  'Retry-After': 'Seconds to wait before the next request',
  'DPoP-Nonce': 'The nonce for the next proof (RFC 9449 section 8)',
};

function headersOf(sent: readonly Rejection[]): DescribedResponse['headers'] {
  const described = Object.entries(headerDescriptions).flatMap(([name, description]) => {
    const values = sent.flatMap(({ reason, error, headers: { [name.toLowerCase()]: value } }) =>
      // Each nonce is made for one client.
      value !== undefined || (name === 'DPoP-Nonce' && error === 'use_dpop_nonce')
        ? [[reason, { value }] as const]
        : [],
    );
    const isAlways = values.length === sent.length;
    const examples = values.filter(([, { value }]) => value !== undefined);
    const header = { description, ...(isAlways && { required: true as const }), schema: { type: 'string' as const } };
    return values.length > 0 ? [[name, { ...header, examples: Object.fromEntries(examples) }] as const] : [];
  });
  return Object.fromEntries(described);
}
