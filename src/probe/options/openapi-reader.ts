import { isJsonObject, type Members } from '../values/json.ts';

// Here the parts of an OpenAPI document are read: security, parameters, references. A part that many operations name is
// read once.

/** A parameter in braces. Braces without an end do not make it go over a long text again. */
export const parameter = /\{([^{}]+)\}/g;
/** The longest value that stands for a parameter: a longer one may stand there many times. */
const maxValueLength = 200;
/** Returns the beginning of a value as text. */
export const shortened = (value: unknown): string => String(value).slice(0, maxValueLength);

/** What has a format, if the document has no example. */
const samples: Readonly<Record<string, string>> = {
  uuid: '00000000-0000-4000-8000-000000000001',
  date: '2026-01-01',
  'date-time': '2026-01-01T00:00:00Z',
};

const listOf = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** Parameters by place and name, and those that a query must have. */
interface Parameters {
  readonly named: ReadonlyMap<string, Members>;
  readonly query: readonly Members[];
}

/** Returns functions that read a document. */
export function createReader(document: Members) {
  const securities = new Map<unknown, ReturnType<typeof readSecurity>>();
  const parameters = new Map<unknown, Parameters>();
  const examples = new Map<Members, unknown>();
  const resolved = (part: Members) => follow(document, part);
  return {
    resolved,
    /** Returns the scope that an operation requires, or why no access token opens it. */
    securityOf: (operation: Members) =>
      once(securities, 'security' in operation ? operation.security : document.security, (needed) =>
        readSecurity(document, needed),
      ),
    /** Fills the parameters of a path, and those that a query must have. The first list decides. */
    urlOf(path: string, lists: readonly unknown[]): string {
      const read = lists.map((list) => once(parameters, list, () => readParameters(listOf(list).map(resolved))));
      const find = (name: unknown, place: string) =>
        read.map(({ named }) => named.get(`${place} ${name}`)).find((one) => one !== undefined) ?? {};
      const values = new Map<string, string>();
      const filledIn = (name: unknown, place: string) =>
        once(values, `${place} ${name}`, () => {
          const found = find(name, place);
          const schema = isJsonObject(found.schema) ? resolved(found.schema) : found;
          const sample = samples[String(schema.format)] ?? (schema.type === 'boolean' ? true : 1);
          return encoded(once(examples, found, exampleOf) ?? once(examples, schema, exampleOf) ?? sample);
        });
      const query = new Set(read.flatMap((one) => one.query.map(({ name }) => name)));
      const pairs = [...query].map((name) => `${encoded(name)}=${filledIn(name, 'query')}`).join('&');
      const filled = path.replace(parameter, (_, name: string) => filledIn(name, 'path'));
      // Without the slash, `.evil.example` would be another host, and `0` another port.
      return (filled.startsWith('/') ? '' : '/') + filled + (pairs && (filled.includes('?') ? '&' : '?') + pairs);
    },
  };
}

function once<Key, Value>(known: Map<Key, Value>, key: Key, read: (key: Key) => Value): Value {
  if (!known.has(key)) known.set(key, read(key));
  return known.get(key) as Value;
}

function readParameters(all: readonly Members[]): Parameters {
  const named = new Map<string, Members>();
  for (const one of all) {
    const key = `${one.in} ${one.name}`;
    if (!named.has(key)) named.set(key, one);
  }
  return { named, query: all.filter((one) => one.in === 'query' && one.required === true) };
}

function readSecurity(document: Members, needed: unknown) {
  const alternatives = listOf(needed);
  const isPublic = alternatives.length === 0 || alternatives.some((one) => Object.keys(one).length === 0);
  const found = alternatives.find((one) => Object.keys(one).some((name) => isOfTokens(document, name)));
  const scope = Object.values(found ?? {})
    .flat()
    .filter((each): each is string => typeof each === 'string');
  const why = isPublic ? 'is public' : found ? undefined : 'takes other credentials than an access token';
  return { why, scope };
}

/** Whether a security scheme has access tokens, as far as the document says what it is (OpenAPI 3, or Swagger 2). */
function isOfTokens({ components, securityDefinitions }: Members, name: string): boolean {
  const schemes = isJsonObject(components) ? components.securitySchemes : securityDefinitions;
  const { type, scheme, ...key } = isJsonObject(schemes) && isJsonObject(schemes[name]) ? schemes[name] : {};
  // Swashbuckle's documentation has a bearer token as a key in the header Authorization.
  const isBearer = key.in === 'header' && /^authorization$/i.test(String(key.name));
  return !(
    (type === 'apiKey' && !isBearer) ||
    type === 'basic' ||
    type === 'mutualTLS' ||
    /^(?:basic|digest)$/i.test(String(scheme))
  );
}

/** Follows a `$ref` within the document (RFC 6901). */
function follow(document: Members, part: Members): Members {
  const { $ref } = part;
  if (typeof $ref !== 'string') return part;
  const names = $ref.split('/').slice(1);
  const found = names.reduce<unknown>((at, name) => {
    const member = decoded(name).replaceAll('~1', '/').replaceAll('~0', '~');
    return isJsonObject(at) ? at[member] : undefined;
  }, document);
  return isJsonObject(found) ? found : part;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns an example of a parameter or of its schema that is a text, a number or a boolean. */
function exampleOf({ example, examples, default: usual, enum: all, items }: Members): unknown {
  const [first] = isJsonObject(examples) || Array.isArray(examples) ? Object.values(examples) : [];
  const [listed] = Array.isArray(all) ? all : [];
  const candidates = [
    example,
    isJsonObject(first) ? first.value : first,
    usual,
    listed,
    isJsonObject(items) ? exampleOf({ ...items, items: undefined }) : undefined,
  ];
  return candidates.find((each) => /^(?:string|number|boolean)$/.test(typeof each));
}

/** Encodes a value; half a surrogate pair has no encoding. */
const encoded = (value: unknown) => encodeURIComponent(shortened(value).replace(/\p{Cs}/gu, ''));
