import { isJsonObject, type Members } from '../values/json.ts';
import type { ProbeTarget } from './options.ts';

// Here an OpenAPI document becomes targets: what its `security` protects.

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** Returns the operations of an OpenAPI document that its `security` protects, and the names of the others. */
export function operationsOf(document: object, baseUrl: string | undefined, wanted: readonly string[] = ['GET']) {
  const { paths, security: all, servers } = document as Members;
  if (!isJsonObject(paths)) throw new TypeError('Cannot probe an OpenAPI document without paths');
  const server = new URL(String(listOf(servers)[0]?.url ?? '/'), baseUrl ?? 'https://api.invalid/');
  const base = new URL(server.pathname, baseUrl ?? server).href.replace(/\/$/, '');
  const protectedOnes: ProbeTarget[] = [];
  const notTried: string[] = [];
  for (const [path, item] of Object.entries(paths))
    for (const name of methods) {
      const operation = isJsonObject(item) ? item[name] : undefined;
      if (!isJsonObject(operation)) continue;
      const method = name.toUpperCase();
      const needed = 'security' in operation ? operation.security : all;
      const schemes = Array.isArray(needed) ? needed.filter(isJsonObject) : [];
      if (schemes.length === 0 || schemes.some((one) => Object.keys(one).length === 0))
        notTried.push(`${method} ${path} is public`);
      else if (!wanted.includes(method)) notTried.push(`${method} ${path}: name the method to try it`);
      else {
        const scope = Object.values(schemes[0] ?? {})
          .flat()
          .filter((each): each is string => typeof each === 'string');
        const parameters = [...listOf(operation.parameters), ...listOf(isJsonObject(item) && item.parameters)];
        // Without the slash, `.evil.example` would be another host, and `0` another port.
        const url = base + (path.startsWith('/') ? '' : '/') + filled(document, path, parameters);
        if (URL.canParse(url) && new URL(url).host === new URL(base).host) protectedOnes.push({ url, method, scope });
        else notTried.push(`${method} ${path} is at another host`);
      }
    }
  return { targets: protectedOnes, notTried };
}

const listOf = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** Follows a `$ref` within the document (RFC 6901). */
function resolved(document: object, { $ref, ...own }: Members): Members {
  if (typeof $ref !== 'string') return own;
  const names = $ref.split('/').slice(1);
  const found = names.reduce<unknown>((at, name) => {
    const member = decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~');
    return isJsonObject(at) ? at[member] : undefined;
  }, document);
  return isJsonObject(found) ? found : own;
}

/** Fills the parameters of a path with their examples, or with 1. */
const filled = (document: object, path: string, parameters: readonly Members[]) =>
  path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const all = parameters.map((one) => resolved(document, one));
    const found = all.find((one) => one.name === name && one.in === 'path');
    const schema = isJsonObject(found?.schema) ? resolved(document, found.schema) : {};
    return encodeURIComponent(String(found?.example ?? schema.example ?? schema.default ?? 1));
  });
