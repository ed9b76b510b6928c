import { beforeAll, describe, expect, test } from 'bun:test';
import Ajv from 'ajv/dist/2020';
import { Elysia } from 'elysia';
import { describeRejections, scopesOf } from '../../src/auth/index.ts';
import { failures } from '../../src/http/responses.ts';
import type { OpenApiDocument, ResponseObject } from '../../src/openapi/document.ts';
import { tokenFaults } from '../http/table/token-faults.ts';
import { fixtureFor } from '../support/fixture.ts';
import { executableForm, type Form } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { bearer } from '../support/mint.ts';
import { createTestApp } from '../support/test-app.ts';
import { type TokenRow, tokenTextOf } from '../support/token-rows.ts';

/** The tokens that are answered with the example of this name. The HTTP table has one for each reason to reject a token. */
const tokens: Readonly<Record<string, TokenRow[1]>> = {
  ...Object.fromEntries(tokenFaults.map(({ reason, token }) => [reason, token])),
  example1: { claims: { scope: scopesOf(createTestApp().app.routes).join(' ') } },
  scope_insufficient: { claims: { scope: 'write:messages' } },
};

/** The requests that are answered with the example of this name, if a token is not enough. */
const requests: Readonly<Record<string, RequestInit>> = {
  credentials_missing: {},
  scheme_unsupported: { headers: { authorization: 'Basic dXNlcjpwYXNz' } },
  credentials_malformed: { headers: { authorization: 'Bearer one two' } },
  method_not_allowed: { method: 'POST' },
};

type Examples = Readonly<Record<string, { readonly value: string }>>;

const nameIn = (reference = '') => reference.split('/').at(-1) ?? '';

type DocumentedAnswer = ReturnType<typeof documentedAnswers>[number];

/** Returns all example responses in the document, each with its route and the name of its schema. */
function documentedAnswers({ paths, components }: OpenApiDocument) {
  const shared: Readonly<Record<string, ResponseObject>> = components.responses;
  return Object.entries(paths).flatMap(([path, { get }]) =>
    Object.entries(get?.responses ?? {}).flatMap(([status, response]) => {
      const { headers = {}, content } = (response.$ref ? shared[nameIn(response.$ref)] : response) ?? {};
      const { schema, examples = {} } = content?.['application/json'] ?? {};
      const shown = Object.entries(headers as Readonly<Record<string, { readonly examples: Examples }>>);
      return Object.entries(examples).map(([name, { value: body }]) => ({
        path,
        status,
        name,
        schema: nameIn(schema?.$ref),
        body,
        headers: shown.map(([header, { examples: values }]) => [header, values[name]?.value] as const),
      }));
    }),
  );
}

async function expectAsDocumented(response: Response, answer: DocumentedAnswer, schemas: Ajv): Promise<void> {
  if (answer.status !== 'default') expect(String(response.status)).toBe(answer.status);
  const body: unknown = await response.json();
  expect(body).toEqual(answer.body);
  expect(answer.schema).toBe(answer.status === '200' ? 'Message' : 'Error');
  expect(schemas.validate(answer.schema, body), 'the body is of the documented schema').toBe(true);
  for (const [name, value] of answer.headers) {
    const sent = response.headers.get(name);
    // How long is left of the cooldown differs from one answer to the next.
    if (name === 'Retry-After') for (const seconds of [sent, value]) expect(seconds).toMatch(/^([1-9]|[12]\d|30)$/);
    else expect(sent).toBe(value ?? null);
  }
  const documented = answer.headers.map(([name]) => name);
  for (const name of ['WWW-Authenticate', 'Retry-After'])
    expect(response.headers.has(name)).toBe(documented.includes(name));
}

function describeAnswers(form: Form, settings: Readonly<Record<string, string>>): void {
  const fixture = fixtureFor(form, { settings });
  const outage = fixtureFor(form, { settings, prepare: (issuer) => issuer.close() });
  let answers: DocumentedAnswer[];
  let schemas: Ajv;
  beforeAll(async () => {
    const document = (await (await fixture().service.fetch('/openapi/json')).json()) as OpenApiDocument;
    answers = documentedAnswers(document);
    schemas = new Ajv({ strict: false, schemas: document.components.schemas });
  });

  const isSentAsShown = (name: string, ask: (path: string) => Promise<Response>) =>
    test(`${name} is sent as it is shown`, async () => {
      const shown = answers.filter((answer) => answer.name === name);
      expect(shown).not.toEqual([]);
      for (const answer of shown) await expectAsDocumented(await ask(answer.path), answer, schemas);
    });
  for (const [name, token] of Object.entries(tokens))
    isSentAsShown(name, (path) => fixture().get(path, tokenTextOf(token, fixture().issuer.url)));
  for (const [name, init] of Object.entries(requests))
    isSentAsShown(name, (path) => fixture().service.fetch(path, init));
  isSentAsShown('keys_unavailable', (path) => outage().get(path, outage().mint()));

  test('shows all outcomes and no others', () => {
    const described = describeRejections({ issuer: 'https://a.test/', audience: 'b' }, { scope: 'c' });
    const reasons = described.map(({ reason }) => reason);
    const names = new Set(answers.map(({ name }) => name));
    expect([...names].sort()).toEqual(['example1', ...reasons, ...Object.keys(failures)].sort());
    // The last one needs a setting, and is tested in tests/auth.
    const provoked = [...Object.keys(tokens), ...Object.keys(requests), 'keys_unavailable', 'required_claim_mismatch'];
    expect(provoked).toEqual(expect.arrayContaining(['example1', ...reasons]));
  });
}

describe('a documented answer', () => {
  describe('in-process, with PUBLIC_URL', () =>
    describeAnswers(inProcessForm, { PUBLIC_URL: 'https://gateway.example.test/base' }));
  describe('of the executable', () => describeAnswers(executableForm, {}));

  test('internal_error is sent as it is shown', async () => {
    const { app } = createTestApp({
      options: {
        onRefused() {
          throw new Error('Unexpected');
        },
      },
      onInternalError: () => {},
      hasDocumentation: true,
      extension: new Elysia().get('/broken', () => Promise.reject(new Error('Unexpected'))),
    });
    const get = (path: string) => app.handle(new Request(`http://localhost${path}`, { headers: bearer('a.b.c') }));
    const document = (await (await get('/openapi/json')).json()) as OpenApiDocument;
    const schemas = new Ajv({ strict: false, schemas: document.components.schemas });
    const answers = documentedAnswers(document).filter(({ name }) => name === 'internal_error');
    expect(answers.length).toBeGreaterThan(2);
    // The public route cannot fail, so another public route replaces it.
    for (const answer of answers) {
      const response = await get(answer.path === '/api/public' ? '/broken' : answer.path);
      expect(response.status).toBe(500);
      await expectAsDocumented(response, answer, schemas);
    }
  });
});
