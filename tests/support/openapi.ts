/** What the tests read of an OpenAPI document; the validator has the whole of it checked. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
  };
  readonly servers?: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
  };
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

export interface DocumentedResponse {
  readonly description: string;
  readonly headers: Readonly<Record<string, { readonly example?: string; readonly examples?: Examples<string> }>>;
  readonly content: { readonly 'application/json': { readonly schema: object; readonly examples: Examples<object> } };
}

export interface SecurityScheme {
  readonly type: string;
  readonly description: string;
  readonly scheme?: string;
  readonly flows?: {
    readonly clientCredentials: { readonly tokenUrl: string; readonly scopes: Readonly<Record<string, string>> };
  };
}

export type Examples<Value> = Readonly<Record<string, { readonly value: Value }>>;

/** One answer that the document shows: of which route, and with what in it. */
export interface DocumentedAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The name of the example. */
  readonly name: string;
  readonly schema: object;
  readonly body: object;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** Returns every answer that is shown, one for each example of each status of each route. */
export function documentedAnswers({ paths }: OpenApiDocument): DocumentedAnswer[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses }]) =>
      Object.entries(responses).flatMap(([status, { headers, content }]) => {
        const { schema, examples } = content['application/json'];
        return Object.entries(examples).map(([name, { value: body }]) => ({
          method: method.toUpperCase(),
          path,
          status: Number(status),
          name,
          schema,
          body,
          headers: Object.fromEntries(
            Object.entries(headers).map(([header, shown]) => [header, shown.example ?? shown.examples?.[name]?.value]),
          ),
        }));
      }),
    ),
  );
}
