import { afterAll, beforeAll, describe, expect, mock, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runToEnd } from '../support/child-process.ts';
import { committedDocument } from './example-document.ts';

// The generator needs the compiler's JavaScript interface, which TypeScript 7 does not have.
mock.module('typescript', () => ({ default: require('typescript-5') }));

/** What a client author writes with the generated types. */
const client = `
import type { components, operations } from './api.ts';

type Message = components['schemas']['Message'];
type ApiError = components['schemas']['Error'];
type Responses = operations['getScopedMessage']['responses'];

export const message: Message = { message: 'Hello' };
export const success: Responses[200]['content']['application/json'] = message;
export const failure: ApiError = { code: 'token_expired', description: 'Token is expired' };
export const failures: Responses[401 | 403 | 503 | 'default']['content']['application/json'][] = [failure];
`;

describe('types generated from the OpenAPI document', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'generated-client-'));
    const { default: generate, astToString } = await import('openapi-typescript');
    await Bun.write(join(folder, 'api.ts'), astToString(await generate(await committedDocument.json())));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const compile = async (text: string) => {
    await Bun.write(join(folder, 'client.ts'), text);
    const compiler = join(import.meta.dir, '../../node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'preserve', '--allowImportingTsExtensions'];
    return (await runToEnd([process.execPath, compiler, ...options, join(folder, 'client.ts')])).stdout;
  };

  test('have the names Message and Error', async () => {
    expect(await compile(client)).toBe('');
  });

  test('refuse a code that the API does not have, and a message of another type', async () => {
    expect(await compile(client.replace("'token_expired'", "'expired'"))).toContain('\'"expired"\' is not assignable');
    expect(await compile(client.replace("'Hello'", '1'))).toContain("'number' is not assignable to type 'string'");
  });
});
