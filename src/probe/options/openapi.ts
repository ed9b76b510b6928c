import { isJsonObject, type Members } from '../values/json.ts';
import { createReader, parameter, shortened } from './openapi-reader.ts';
import type { ProbeTarget } from './options.ts';

// Here an OpenAPI document becomes targets: what its `security` protects. It may come from the server that is tried, so
// whatever it has is read once, however often it is named.

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
/** The most operations of a document that are tried. */
export const maxOperations = 500;
/** The longest URL that servers commonly take. */
const maxUrlLength = 8000;

/** Returns the operations of an OpenAPI document that its `security` protects, and the names of the others. */
export function operationsOf(document: object, baseUrl: string | undefined, wanted: readonly string[] = ['GET']) {
  const { paths } = document as Members;
  if (!isJsonObject(paths)) throw new TypeError('Cannot probe an OpenAPI document without paths');
  const base = baseOf(document as Members, baseUrl);
  const { resolved, securityOf, urlOf } = createReader(document as Members);
  const targets: ProbeTarget[] = [];
  const notTried: string[] = [];
  let left = 0;
  for (const [path, given] of Object.entries(paths)) {
    if (!isJsonObject(given)) continue;
    const referred = resolved(given);
    const member = (name: string) => given[name] ?? referred[name];
    for (const name of methods) {
      const operation = member(name);
      if (!isJsonObject(operation)) continue;
      const method = name.toUpperCase();
      const { why, scope } = securityOf(operation);
      const isTried = why === undefined && wanted.includes(method);
      if (why !== undefined) notTried.push(`${method} ${path} ${why}`);
      else if (!isTried) notTried.push(`${method} ${path}: name the method to try it`);
      else if (targets.length === maxOperations) left += 1;
      else {
        const url = base + urlOf(path, [operation.parameters, member('parameters')]);
        const isHere = URL.canParse(url) && new URL(url).host === new URL(base).host;
        if (url.length > maxUrlLength) notTried.push(`${method} ${path} has a URL over ${maxUrlLength} characters`);
        else if (isHere) targets.push({ url, method, scope });
        else notTried.push(`${method} ${path} is at another host`);
      }
    }
  }
  if (left > 0) notTried.push(`${left} more operations: a run takes ${maxOperations}, name the others as targets`);
  return { targets, notTried };
}

/** Returns what stands before the paths, on the host of the document if its URL is known. */
function baseOf({ servers, basePath = '/', host }: Members, baseUrl: string | undefined): string {
  const [server] = Array.isArray(servers) ? servers : [];
  const { url = basePath, variables } = isJsonObject(server) ? server : {};
  const filledIn = (_: string, name: string) => {
    const variable = isJsonObject(variables) ? variables[name] : undefined;
    return shortened(isJsonObject(variable) ? variable.default : name);
  };
  const filled = String(url).replace(parameter, filledIn);
  const from = baseUrl ?? `https://${typeof host === 'string' ? host : 'api.invalid'}/`;
  if (!URL.canParse(filled, from) || !/^https?:$/.test(new URL(filled, from).protocol))
    throw new TypeError('Cannot probe an OpenAPI document whose first server is no http or https URL');
  const whole = new URL(filled, from);
  return new URL(whole.pathname, baseUrl ?? whole).href.replace(/\/$/, '');
}
