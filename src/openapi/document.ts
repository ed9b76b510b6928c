import { isDeepStrictEqual } from 'node:util';
import { toOpenAPISchema } from '@elysia/openapi/openapi';
import type { AnyElysia } from 'elysia';
import { securitySchemes } from 'protected-api';
import { type GuardOptions, scopesOf } from 'protected-api/elysia';
import {
  type DescribedApi,
  license,
  type MediaType,
  name,
  type Operation,
  publicUrlOf,
  type ResponseObject,
  requiredScopes,
  summary,
  version,
} from './about.ts';
import { describeErrors, errorSchemaOf, errorsOf } from './described-errors.ts';

/** The OpenAPI document of the service. */
export type OpenApiDocument = ReturnType<typeof createDocument>;

/** Returns the OpenAPI 3.1 document of all routes that are not hidden, generated from their schemas. */
export function createDocument(app: AnyElysia, api: DescribedApi, tokenEndpoint: string | undefined) {
  const { guard, options } = api;
  const scopes = scopesOf(app.routes);
  // Before the paths, whose alternatives name these schemes.
  const schemes = securitySchemes(guard, { tokenEndpoint, scopes });
  const paths = JSON.parse(JSON.stringify(toOpenAPISchema(app).paths), leaveOpen) as Readonly<
    Record<string, Readonly<Record<string, Operation>>>
  >;
  const schemas: Record<string, object> = { ErrorObject: errorSchemaOf(errorsOf(api, scopes)) };
  const { dpop, dpopNonceSecret } = options;
  const publicUrl = publicUrlOf(options);
  const complete = (operation: Operation): Operation => {
    const { security = [], responses = {}, parameters = [] } = operation;
    // The challenge of a route names the scopes of its first alternative.
    const required = requiredScopes(operation);
    const isGuarded = security.some(({ bearer, dpop = bearer }) => dpop);
    const describe = (response: ResponseObject, status: string): ResponseObject => {
      if (status === '503') return referTo('KeySetUnavailable');
      if (status === '401' && required.length === 0) return referTo('Unauthorized');
      const described = describeErrors(status, api, required) ?? describeDeclared(response, status, schemas);
      return isGuarded && dpopNonceSecret && status === '200' ? { ...described, headers: nonceHeader } : described;
    };
    return {
      ...operation,
      security,
      ...(isGuarded && dpop === 'required' && { parameters: [...parameters, proofHeader] }),
      responses: { ...mapValues(responses, describe), default: referTo('UnexpectedError') },
    };
  };

  return {
    openapi: '3.1.0',
    info: {
      title: name,
      version,
      summary,
      description: describeApi(api),
      contact: { name: `The ${name} authors` },
      license: { name: license, identifier: license },
    },
    servers: [{ url: publicUrl ?? '/' }],
    tags: [{ name: 'Messages', description: 'One message for each level of access' }],
    paths: mapValues(paths, (operations) => mapValues(operations, complete)),
    components: {
      schemas,
      responses: mapValues(shared, (status) => describeErrors(status, api)),
      securitySchemes: schemes,
    },
  };
}

/** Elysia closes the schema of a response when its route is called for the first time. */
const leaveOpen = (name: string, value: unknown) =>
  name === 'additionalProperties' && value === false ? undefined : value;

const nonceHeader = {
  'DPoP-Nonce': { description: 'The nonce for the next proof (RFC 9449 section 8.2)', schema: { type: 'string' } },
};

const proofHeader = {
  name: 'DPoP',
  in: 'header',
  description: 'Proof that the client has the key of the token (RFC 9449)',
  required: true,
  schema: { type: 'string' },
};

const proofForm = '`DPoP <token>`, with a proof in the `DPoP` header (RFC 9449)';
const credentialForms: Readonly<Record<NonNullable<GuardOptions['dpop']>, string>> = {
  off: '`Bearer <token>`',
  on: `\`Bearer <token>\`, or, for a token that is bound to a key, ${proofForm}`,
  required: proofForm,
};

const describeApi = ({ guard, options: { audience, dpop } }: DescribedApi) => {
  const issuers = guard.state().issuers.map(({ issuer }) => issuer);
  return `\
The API accepts JWT access tokens that \`${issuers.join('` or `')}\` issues for the audience \`${audience.join('` or `')}\`. Send
the token in the \`Authorization\` header: ${credentialForms[dpop]}.

Every error response is a JSON object with a \`code\` for programs and a \`description\` for people. Each endpoint lists its
errors. In addition, an unknown path returns 404, an unsupported method 405, and an unexpected failure 500. \`HEAD\` works
wherever \`GET\` does. Web pages of any origin can call the API.
`;
};

/** The responses that several operations share, by their names in `components.responses`. */
const shared = { Unauthorized: '401', KeySetUnavailable: '503', UnexpectedError: 'default' } as const;

const referTo = (name: keyof typeof shared) => ({ $ref: `#/components/responses/${name}` });

/** Moves a schema that has a title to `schemas`, so that generated clients get a named type. */
function describeDeclared(
  { description, content = {} }: ResponseObject,
  status: string,
  schemas: Record<string, object>,
): ResponseObject {
  const media = Object.entries(content).flatMap(([type, declared]): [string, MediaType][] => {
    // For a response without a body, these entries are not media types.
    if (declared?.schema === undefined) return [];
    const { examples = [], ...shape } = declared.schema;
    const values = examples.map((value, index) => [`example${index + 1}`, { value }]);
    const schema = nameSchema(shape, schemas);
    return [[type, values.length > 0 ? { schema, examples: Object.fromEntries(values) } : { schema }]];
  });
  return {
    description: status === '200' ? 'Success' : (description ?? `Status ${status}`),
    ...(media.length > 0 && { content: Object.fromEntries(media) }),
  };
}

/** Schemas with the same title share a name only if they are equal. */
function nameSchema(schema: NonNullable<MediaType['schema']>, schemas: Record<string, object>) {
  const { title } = schema;
  if (title === undefined || !/^[\w.-]+$/.test(title)) return schema;
  schemas[title] ??= schema;
  return isDeepStrictEqual(schemas[title], schema) ? { $ref: `#/components/schemas/${title}` } : schema;
}

function mapValues<Value, Mapped>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value, key: string) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
