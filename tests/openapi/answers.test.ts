import { beforeAll, describe, expect, test } from 'bun:test';
import Ajv from 'ajv/dist/2020';
import { Elysia } from 'elysia';
import { describeRejections, scopesOf } from '../../src/auth/index.ts';
import { failures } from '../../src/http/answers.ts';
import type { OpenApiDocument, ResponseObject } from '../../src/openapi/document.ts';
import { bearer, fixtureFor } from '../support/fixture.ts';
import { executableForm, type Form } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { rsaKey } from '../support/keys.ts';
import type { TokenOverrides } from '../support/mint.ts';
import { createTestApp } from '../support/test-app.ts';

/** What is wrong with the token that is answered with the example of this name. */
const faults: Readonly<Record<string, TokenOverrides>> = {
  example1: { claims: { scope: scopesOf(createTestApp().app.routes).join(' ') } },
  token_malformed: { reshape: () => 'not.a.token.either' },
  token_opaque: { reshape: () => 'no-token' },
  token_encrypted: { reshape: () => 'a.b.c.d.e' },
  token_oversized: { reshape: (token) => token.padEnd(8193, 'x') },
  algorithm_unsupported: { header: { alg: 'HS256' } },
  key_id_missing: { header: { kid: undefined } },
  critical_header: { header: { crit: ['exp'] } },
  type_unsupported: { header: { typ: 'dpop+jwt' } },
  key_unknown: { header: { kid: 'never-published' } },
  signature_invalid: { key: rsaKey('of somebody else') },
  claims_malformed: { claims: { exp: undefined } },
  issuer_mismatch: { claims: { iss: 'https://other.example.test/' } },
  audience_mismatch: { claims: { aud: 'https://other.example.test/' } },
  token_not_yet_valid: { claims: { nbf: 4_000_000_000 } },
  token_expired: { claims: { exp: 1 } },
  token_bound: { claims: { cnf: { jkt: 'thumbprint' } } },
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
  for (const [name, fault] of Object.entries(faults))
    isSentAsShown(name, (path) => fixture().get(path, fixture().mint(fault)));
  for (const [name, init] of Object.entries(requests))
    isSentAsShown(name, (path) => fixture().service.fetch(path, init));
  isSentAsShown('keys_unavailable', (path) => outage().get(path, outage().mint()));

  test('shows all outcomes and no others', () => {
    const described = describeRejections({ issuer: 'https://a.test/', audience: 'b' }, { scope: 'c' });
    const reasons = described.map(({ reason }) => reason);
    const names = new Set(answers.map(({ name }) => name));
    expect([...names].sort()).toEqual(['example1', ...reasons, ...Object.keys(failures)].sort());
    // The last one needs a setting, and is tested in tests/auth.
    const provoked = [...Object.keys(faults), ...Object.keys(requests), 'keys_unavailable', 'required_claim_mismatch'];
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
      discovery: { hasDocumentation: true },
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
