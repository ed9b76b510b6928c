import { isJsonObject, type Members } from '../values/json.ts';
import type { ProbeTarget } from './options.ts';

// Here an OpenAPI document becomes targets: what its `security` protects. It may come from the server that is tried.

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** Returns the operations of an OpenAPI document that its `security` protects, and the names of the others. */
export function operationsOf(document: object, baseUrl: string | undefined, wanted: readonly string[] = ['GET']) {
  const { paths } = document as Members;
  if (!isJsonObject(paths)) throw new TypeError('Cannot probe an OpenAPI document without paths');
  const base = baseOf(document as Members, baseUrl);
  const targets: ProbeTarget[] = [];
  const notTried: string[] = [];
  for (const [path, given] of Object.entries(paths)) {
    const item = isJsonObject(given) ? { ...resolved(document, given), ...given } : {};
    for (const name of methods) {
      const operation = item[name];
      if (!isJsonObject(operation)) continue;
      const method = name.toUpperCase();
      const { why, scope } = securityOf(document as Members, operation);
      const parameters = [...listOf(operation.parameters), ...listOf(item.parameters)];
      const url = base + urlOf(document, path, parameters);
      const isHere = URL.canParse(url) && new URL(url).host === new URL(base).host;
      if (why !== undefined) notTried.push(`${method} ${path} ${why}`);
      else if (!wanted.includes(method)) notTried.push(`${method} ${path}: name the method to try it`);
      else if (isHere) targets.push({ url, method, scope });
      else notTried.push(`${method} ${path} is at another host`);
    }
  }
  return { targets, notTried };
}

/** Returns what stands before the paths, on the host of the document if its URL is known. */
function baseOf({ servers, basePath = '/', host }: Members, baseUrl: string | undefined): string {
  const { url = basePath, variables } = listOf(servers)[0] ?? {};
  const filledIn = (_: string, name: string) => {
    const variable = isJsonObject(variables) ? variables[name] : undefined;
    return String(isJsonObject(variable) ? variable.default : name);
  };
  const server = String(url).replace(parameter, filledIn);
  const from = baseUrl ?? `https://${typeof host === 'string' ? host : 'api.invalid'}/`;
  if (!URL.canParse(server, from) || !/^https?:$/.test(new URL(server, from).protocol))
    throw new TypeError('Cannot probe an OpenAPI document whose first server is no http or https URL');
  const whole = new URL(server, from);
  return new URL(whole.pathname, baseUrl ?? whole).href.replace(/\/$/, '');
}

/** Returns the scope that an operation requires, or why no access token opens it. */
function securityOf(document: Members, operation: Members) {
  const needed = 'security' in operation ? operation.security : document.security;
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
  const { type, scheme } = isJsonObject(schemes) && isJsonObject(schemes[name]) ? schemes[name] : {};
  return !(type === 'apiKey' || type === 'basic' || type === 'mutualTLS' || /^(?:basic|digest)$/i.test(String(scheme)));
}

const listOf = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** Follows a `$ref` within the document (RFC 6901). */
function resolved(document: object, { $ref, ...own }: Members): Members {
  if (typeof $ref !== 'string') return own;
  const names = $ref.split('/').slice(1);
  const found = names.reduce<unknown>((at, name) => {
    const member = decoded(name).replaceAll('~1', '/').replaceAll('~0', '~');
    return isJsonObject(at) ? at[member] : undefined;
  }, document);
  return isJsonObject(found) ? found : own;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A parameter in braces. Braces without an end do not make it go over a long text again. */
const parameter = /\{([^{}]+)\}/g;

/** Fills the parameters of a path, and those that a query must have. */
function urlOf(document: object, path: string, given: readonly Members[]): string {
  const parameters = given.map((one) => resolved(document, one));
  const filledIn = (name: unknown, place: string) => {
    const found = parameters.find((one) => one.name === name && one.in === place) ?? {};
    const schema = isJsonObject(found.schema) ? resolved(document, found.schema) : found;
    return encoded(exampleOf(found) ?? exampleOf(schema) ?? 1);
  };
  const query = parameters.filter((one) => one.in === 'query' && one.required === true);
  const pairs = query.map(({ name }) => `${encoded(name)}=${filledIn(name, 'query')}`).join('&');
  const filled = path.replace(parameter, (_, name: string) => filledIn(name, 'path'));
  // Without the slash, `.evil.example` would be another host, and `0` another port.
  return (filled.startsWith('/') ? '' : '/') + filled + (pairs && (filled.includes('?') ? '&' : '?') + pairs);
}

/** Returns an example of a parameter or of its schema that is a text, a number or a boolean. */
function exampleOf({ example, examples, default: usual, enum: all, items }: Members): unknown {
  const [first] = Object.values(isJsonObject(examples) || Array.isArray(examples) ? examples : {});
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
const encoded = (value: unknown) => encodeURIComponent(String(value).replace(/\p{Cs}/gu, ''));
