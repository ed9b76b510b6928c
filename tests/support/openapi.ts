/** The part of an OpenAPI document that tests read. The validator checks the rest. */
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
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, DocumentedResponse>>;
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
  };
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: Readonly<Record<string, DocumentedResponse | { readonly $ref: string }>>;
}

export interface DocumentedResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly examples: Examples<string> }>>;
  readonly content: {
    readonly 'application/json': { readonly schema: { readonly $ref: string }; readonly examples: Examples<object> };
  };
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

/** An example response in the document, with its route. */
export interface DocumentedAnswer {
  readonly path: string;
  readonly status: string;
  /** The name of the example. */
  readonly name: string;
  /** The name of the schema. */
  readonly schema: string;
  readonly body: object;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** Returns the responses of an operation, with references followed. */
export function responsesOf(
  document: OpenApiDocument,
  operation: Operation | undefined,
): [string, DocumentedResponse][] {
  return Object.entries(operation?.responses ?? {}).map(([status, response]) => {
    const found = '$ref' in response ? document.components.responses[nameIn(response.$ref)] : response;
    if (found === undefined) throw new TypeError(`No response behind ${JSON.stringify(response)}`);
    return [status, found];
  });
}

const nameIn = (reference: string) => reference.split('/').at(-1) ?? '';

/** Returns all example responses in the document. */
export function documentedAnswers(document: OpenApiDocument): DocumentedAnswer[] {
  return Object.entries(document.paths).flatMap(([path, { get }]) =>
    responsesOf(document, get).flatMap(([status, { headers = {}, content }]) => {
      const { schema, examples } = content['application/json'];
      return Object.entries(examples).map(([name, { value: body }]) => ({
        path,
        status,
        name,
        schema: nameIn(schema.$ref),
        body,
        headers: Object.fromEntries(
          Object.entries(headers).map(([header, shown]) => [header, shown.examples[name]?.value]),
        ),
      }));
    }),
  );
}
