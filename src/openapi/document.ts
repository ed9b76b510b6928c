import { toOpenAPISchema } from '@elysiajs/openapi/openapi';
import type { AnyElysia } from 'elysia';
import packageJson from '../../package.json' with { type: 'json' };
import { scopesOf, securityOf } from '../auth/resource-server.ts';
import { describeDeclared, describeFailures, type RefusalHeaders } from './answers.ts';

export interface DocumentOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly tokenEndpoint: string;
  /** Where clients reach the API; undefined when that is not known. */
  readonly publicUrl: string | undefined;
  readonly refusalHeaders: RefusalHeaders;
}

/** An operation as @elysiajs/openapi makes it, as far as it is looked at here. */
interface Operation {
  readonly security?: ReturnType<typeof securityOf>;
  readonly responses?: Readonly<
    Record<string, { readonly content: { readonly 'application/json': { schema: object } } }>
  >;
}

/** Returns the OpenAPI 3.1 document of the routes that are not hidden, made from their schemas. */
export function createDocument(app: AnyElysia, options: DocumentOptions): object {
  const { issuer, audience, tokenEndpoint, publicUrl, refusalHeaders } = options;
  const paths = toOpenAPISchema(app).paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>;

  return {
    openapi: '3.1.2',
    info: {
      title: 'Protected API',
      version: packageJson.version,
      summary: 'Messages for everybody, for bearers of an access token, and for bearers of one with a scope.',
      description: describeApi(issuer, audience),
    },
    ...(publicUrl !== undefined && { servers: [{ url: publicUrl }] }),
    tags: [{ name: 'Messages', description: 'What the API says, and to whom' }],
    paths: mapValues(paths, (operations) => {
      const allow = Object.keys(operations).flatMap((method) =>
        method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()],
      );
      const failures = describeFailures(allow.join(', '));
      return mapValues(operations, (operation) => completeOperation(operation, failures, refusalHeaders));
    }),
    components: {
      securitySchemes: {
        oauth2: {
          type: 'oauth2',
          description: 'A token that the issuer gives to a program.',
          flows: { clientCredentials: { tokenUrl: tokenEndpoint, scopes: describeScopes(scopesOf(app.routes)) } },
        },
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A token that you have already.' },
      },
    },
  };
}

const describeApi = (issuer: string, audience: string) => `\
Access tokens are JWTs that \`${issuer}\` signs for the audience \`${audience}\`; they are sent as
\`Authorization: Bearer <token>\`.

Every error is an object with a \`code\` for programs and a \`description\` for people. A path that does not exist is 404
\`not_found\`. HEAD works wherever GET does, and pages of any origin may call.
`;

const describeScopes = (scopes: readonly string[]) =>
  Object.fromEntries(scopes.map((scope) => [scope, 'Without it, what asks for it answers 403']));

/** A route is protected when it declares the 401 of the bearer plugin; one without a scope declares no security of its own. */
function completeOperation(operation: Operation, failures: object, refusalHeaders: RefusalHeaders): object {
  const { responses = {} } = operation;
  const security = operation.security ?? ('401' in responses ? securityOf() : []);
  const [scope] = security.flatMap(({ oauth2 }) => oauth2 ?? []);
  const declared = Object.entries(responses).map(([status, { content }]) => [
    status,
    describeDeclared(status, content['application/json'].schema, { scope, refusalHeaders }),
  ]);
  return { ...operation, security, responses: { ...Object.fromEntries(declared), ...failures } };
}

function mapValues<Value, Mapped>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
