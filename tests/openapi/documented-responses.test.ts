import { beforeAll, describe, expect, test } from 'bun:test';
import Ajv from 'ajv/dist/2020';
import { Elysia } from 'elysia';
import { describeRejections, scopesOf } from '../../src/auth/index.ts';
import { failures } from '../../src/http/responses.ts';
import type { ResponseObject } from '../../src/openapi/about.ts';
import type { OpenApiDocument } from '../../src/openapi/document.ts';
import { tokenFaults } from '../http/table/token-faults.ts';
import type { Environment } from '../support/child-process.ts';
import { fixtureFor } from '../support/fixture.ts';
import { executableForm, type Form } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { bearer } from '../support/mint.ts';
import { createTestApp } from '../support/test-app.ts';
import { type TokenRow, tokenTextOf } from '../support/token-rows.ts';

/** The requests whose response is the example with this name: a token, or what is sent instead. */
const tokens: Readonly<Record<string, TokenRow[1]>> = {
  // The HTTP table has a token for each reason to reject one.
  ...Object.fromEntries(tokenFaults.map(({ reason, token }) => [reason, token])),
  example1: { claims: { scope: scopesOf(createTestApp().app.routes).join(' ') } },
  scope_insufficient: { claims: { scope: 'write:messages' } },
};
const requests: Readonly<Record<string, RequestInit>> = {
  credentials_missing: {},
  scheme_unsupported: { headers: { authorization: 'Basic dXNlcjpwYXNz' } },
  credentials_malformed: { headers: { authorization: 'Bearer one two' } },
  method_not_allowed: { method: 'POST' },
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
  return { examples, schemas: new Ajv({ strict: false, schemas: components.schemas }) };
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
    expect(schema).toBe(status === '200' ? 'Message' : 'Error');
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

describe.each<[name: string, form: Form, settings: Environment]>([
  ['in-process, with PUBLIC_URL', inProcessForm, { PUBLIC_URL: 'https://gateway.example.test/base' }],
  ['of the executable', executableForm, {}],
])('a documented response %s', (_name, form, settings) => {
  const fixture = fixtureFor(form, { settings });
  const outage = fixtureFor(form, { settings, prepare: (issuer) => issuer.close() });
  let documented: Documented;
  beforeAll(async () => {
    documented = documentedIn((await (await fixture().service.fetch('/openapi/json')).json()) as OpenApiDocument);
  });

  test.each(Object.keys(tokens))('%s is sent as it is shown', (name) =>
    expectAsShown(documented, name, (path) =>
      fixture().get(path, tokenTextOf(tokens[name] ?? {}, fixture().issuer.url)),
    ),
  );
  test.each(Object.keys(requests))('%s is sent as it is shown', (name) =>
    expectAsShown(documented, name, (path) => fixture().service.fetch(path, requests[name])),
  );
  test('keys_unavailable is sent as it is shown', () =>
    expectAsShown(documented, 'keys_unavailable', (path) => outage().get(path, outage().mint())));

  test('shows all outcomes and no others', () => {
    const described = describeRejections({ issuer: 'https://a.test/', audience: 'b' }, { scope: 'c' });
    const reasons = described.map(({ reason }) => reason);
    const names = new Set(documented.examples.map(({ name }) => name));
    expect([...names].sort()).toEqual(['example1', ...reasons, ...Object.keys(failures)].sort());
    // The last one needs a setting, and is tested in tests/auth.
    const provoked = [...Object.keys(tokens), ...Object.keys(requests), 'keys_unavailable', 'required_claim_mismatch'];
    expect(provoked).toEqual(expect.arrayContaining(['example1', ...reasons]));
  });
});

test('the documented response internal_error is sent as it is shown', async () => {
  const fail = () => {
    throw new Error('Unexpected');
  };
  const { get } = createTestApp({
    options: { onRefused: fail },
    onInternalError: () => {},
    hasDocumentation: true,
    extension: new Elysia().get('/broken', fail),
  });
  const documented = documentedIn((await (await get('/openapi/json')).json()) as OpenApiDocument);
  // The public route cannot fail, so another public route replaces it.
  await expectAsShown(documented, 'internal_error', async (path) => {
    const response = await get(path === '/api/public' ? '/broken' : path, { headers: bearer('a.b.c') });
    expect(response.status).toBe(500);
    return response;
  });
});
