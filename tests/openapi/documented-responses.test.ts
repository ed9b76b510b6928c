import { beforeAll, describe, expect, test } from 'bun:test';
import Ajv from 'ajv/dist/2020';
import type { ResponseObject } from '../../src/openapi/about.ts';
import type { OpenApiDocument } from '../../src/openapi/document.ts';
import { fixtureFor } from '../support/fixture.ts';
import { inProcessForm } from '../support/in-process.ts';
import { bearer, type TokenOverrides } from '../support/mint.ts';

/** One request for each status, whose response is the example with this name: a token, or what is sent instead. */
const requests: Readonly<Record<string, { readonly token?: TokenOverrides; readonly init?: RequestInit }>> = {
  credentials_missing: {},
  token_expired: { token: { claims: { exp: 0 } } },
  scope_insufficient: { token: { claims: { scope: 'write:messages' } } },
  method_not_allowed: { init: { method: 'POST' } },
};

type Examples = Readonly<Record<string, { readonly value: string }>>;
type Documented = ReturnType<typeof documentedIn>;

const nameIn = (reference = '') => reference.split('/').at(-1) ?? '';

/** Returns all example responses in a document, each with its route and the name of its schema, and its schemas. */
function documentedIn({ paths, components }: OpenApiDocument) {
  const shared: Readonly<Record<string, ResponseObject | undefined>> = components.responses;
  const examples = Object.entries(paths).flatMap(([path, { get }]) =>
    Object.entries(get?.responses ?? {}).flatMap(([status, response]) => {
      const { headers = {}, content } = (response.$ref ? shared[nameIn(response.$ref)] : response) ?? {};
      const { schema, examples = {} } = content?.['application/json'] ?? {};
      const shown = Object.entries(headers as Readonly<Record<string, { readonly examples: Examples }>>);
      return Object.entries(examples).map(([name, { value: body }]) => ({
        ...{ path, status, name, body, schema: nameIn(schema?.$ref) },
        headers: Object.fromEntries(shown.map(([header, { examples: values }]) => [header, values[name]?.value])),
      }));
    }),
  );
  const required = Object.values(paths).flatMap(({ get }) => get?.security?.flatMap(Object.values) ?? []);
  const schemas = new Ajv({ strict: false, schemas: components.schemas });
  return { examples, scope: required.flat().join(' '), schemas };
}

/** Fails unless the service sends each example with this name for its path. */
async function expectAsShown(
  { examples, schemas }: Documented,
  name: string,
  send: (path: string) => Promise<Response>,
) {
  const shown = examples.filter((example) => example.name === name);
  expect(shown).not.toEqual([]);
  for (const { path, status, schema, body, headers } of shown) {
    const response = await send(path);
    if (status !== 'default') expect(String(response.status)).toBe(status);
    const sent: unknown = await response.json();
    expect(sent).toEqual(body);
    expect(schema).toBe(status === '200' ? 'Message' : 'ErrorObject');
    expect(schemas.validate(schema, sent), 'the body is of the documented schema').toBe(true);
    for (const header of ['WWW-Authenticate', 'Retry-After']) {
      const [value, documented] = [response.headers.get(header), headers[header] ?? null];
      // The rest of the cooldown differs between responses.
      const isTime = header === 'Retry-After' && value !== null;
      if (isTime) for (const seconds of [value, documented]) expect(seconds).toMatch(/^([1-9]|[12]\d|30)$/);
      else expect(value).toBe(documented);
    }
  }
}

describe('a documented response', () => {
  const settings = { PUBLIC_URL: 'https://gateway.example.test/base' };
  const fixture = fixtureFor(inProcessForm, { settings });
  const outage = fixtureFor(inProcessForm, { settings, prepare: (issuer) => issuer.close() });
  let documented: Documented;
  beforeAll(async () => {
    documented = documentedIn((await (await fixture().service.fetch('/openapi/json')).json()) as OpenApiDocument);
  });

  test.each(Object.entries(requests))('%s is sent as it is shown', (name, { token, init }) =>
    expectAsShown(documented, name, (path) =>
      fixture().service.fetch(path, { headers: token && bearer(fixture().mint(token)), ...init }),
    ),
  );
  test('example1 is sent as it is shown, to a token with every scope', () => {
    const { scope } = documented;
    return expectAsShown(documented, 'example1', (path) => fixture().get(path, fixture().mint({ claims: { scope } })));
  });
  test('keys_unavailable is sent as it is shown', () =>
    expectAsShown(documented, 'keys_unavailable', (path) => outage().get(path, outage().mint())));
});
