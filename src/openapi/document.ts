import { isDeepStrictEqual } from 'node:util';
import { toOpenAPISchema } from '@elysiajs/openapi/openapi';
import type { AnyElysia } from 'elysia';
import { type GuardOptions, isGuarded, scopesOf, securitySchemes } from 'protected-api';
import { license, name, summary, version } from './about.ts';
import {
  describeRejection,
  describeShared,
  errorSchemaOf,
  type RejectionsOf,
  sharedResponses,
} from './described-errors.ts';

export interface DocumentOptions {
  readonly issuer: readonly string[];
  readonly audience: readonly string[];
  /** URL of the token endpoint; undefined if unknown. */
  readonly tokenEndpoint: string | undefined;
  /** URL at which clients reach the API; undefined if unknown. */
  readonly publicUrl: string | undefined;
  /** `off` by default. */
  readonly dpop?: GuardOptions['dpop'];
  readonly rejectionsOf: RejectionsOf;
}

/** The OpenAPI document of the service. */
export type OpenApiDocument = ReturnType<typeof createDocument>;

/** The part of an operation that the document and its page use. */
export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: object;
  readonly responses?: Readonly<Record<string, ResponseObject>>;
}

/** A response, or a reference to a shared one. */
export interface ResponseObject {
  readonly $ref?: string;
  readonly description?: string;
  readonly headers?: Readonly<Record<string, Pick<MediaType, 'examples'>>>;
  readonly content?: Readonly<Record<string, MediaType | undefined>>;
}

interface MediaType {
  readonly schema?: { readonly title?: string; readonly examples?: readonly unknown[]; readonly $ref?: string };
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** Returns the OpenAPI 3.1 document of all routes that are not hidden, generated from their schemas. */
export function createDocument(app: AnyElysia, options: DocumentOptions) {
  const { tokenEndpoint, publicUrl, rejectionsOf } = options;
  const paths = toOpenAPISchema(app).paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const schemas: Record<string, object> = { Error: errorSchemaOf(rejectionsOf, scopesOf(app.routes)) };
  const { oauth2, bearer } = securitySchemes(options, { tokenEndpoint, scopes: scopesOf(app.routes) });
  const guarded = new Set(
    app.routes.filter(isGuarded).map(({ method, path }) => `${method.toLowerCase()} ${templateOf(path)}`),
  );

  return {
    openapi: '3.1.2',
    info: {
      title: name,
      version,
      summary,
      description: describeApi(options),
      contact: { name: `The ${name} authors` },
      license: { name: license, identifier: license },
    },
    ...(publicUrl !== undefined && { servers: [{ url: publicUrl }] }),
    tags: [{ name: 'Messages', description: 'One message for each level of access' }],
    paths: mapValues(paths, (operations, path) =>
      mapValues(operations, (operation, method) =>
        completeOperation(operation, {
          schemas,
          tokenEndpoint,
          rejectionsOf,
          isProtected: guarded.has(`${method} ${path}`),
        }),
      ),
    ),
    components: {
      schemas,
      responses: describeShared(rejectionsOf),
      // Without a token endpoint, no operation names `oauth2`.
      securitySchemes: tokenEndpoint === undefined ? { bearer } : { oauth2, bearer },
    },
  };
}

const withProof = '`Authorization: DPoP <token>`, with a proof in the header `DPoP` (RFC 9449)';
const credentials: Readonly<Record<NonNullable<GuardOptions['dpop']>, string>> = {
  off: '`Authorization: Bearer <token>`',
  on: `\`Authorization: Bearer <token>\` or, if it is bound to a key, ${withProof}`,
  required: withProof,
};

const describeApi = ({ issuer, audience, dpop = 'off' }: DocumentOptions) => `\
The API accepts access tokens that \`${issuer.join('` or `')}\` issues as JWTs for the audience \`${audience.join('` or `')}\`. Send one in the request header
${credentials[dpop]}.

Every error response is a JSON object with a \`code\` for programs and a \`description\` for people. Each endpoint lists its
errors. In addition, an unknown path returns 404, an unsupported method 405, and an unexpected failure 500. \`HEAD\` works wherever \`GET\` does. Browsers may call the API from any origin.
`;

interface Completion {
  /** Receives the named schemas of the operation. */
  readonly schemas: Record<string, object>;
  readonly tokenEndpoint: string | undefined;
  readonly rejectionsOf: RejectionsOf;
  readonly isProtected: boolean;
}

/** The OpenAPI form of a route's path. */
const templateOf = (path: string) => path.replace(/:(\w+)\??/g, '{$1}');

function completeOperation(
  operation: Operation,
  { schemas, tokenEndpoint, rejectionsOf, isProtected }: Completion,
): Operation {
  const { security = [] } = operation;
  const scopes = security.flatMap(({ oauth2 = [] }) => oauth2);
  const requirements = [...(tokenEndpoint === undefined ? [] : [{ oauth2: scopes }]), { bearer: scopes }];
  const describe = (response: ResponseObject, status: string): ResponseObject => {
    // The challenge of a route names its scopes.
    if (status === '401' && scopes.length > 0) return describeRejection(401, rejectionsOf(scopes));
    if (status === '401' || status === '503') return { $ref: `#/components/responses/${sharedResponses[status]}` };
    if (status === '403') return describeRejection(403, rejectionsOf(scopes));
    return describeDeclared(response, status, schemas);
  };
  const unexpected = { $ref: `#/components/responses/${sharedResponses.default}` };
  return {
    ...operation,
    security: isProtected ? requirements : [],
    responses: { ...mapValues(operation.responses ?? {}, describe), default: unexpected },
  };
}

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
    return [
      [
        type,
        { schema: nameSchema(shape, schemas), ...(values.length > 0 && { examples: Object.fromEntries(values) }) },
      ],
    ];
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
