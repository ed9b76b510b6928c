import { expect, mock, test } from 'bun:test';
import { join } from 'node:path';
import { runToEnd } from '../support/child-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { committedDocument } from './example-document.ts';

// The generator needs the compiler's JavaScript interface, which TypeScript 7 does not have.
mock.module('typescript', () => ({ default: require('typescript-5') }));

/** What a client author writes with the generated types. */
const client = `
import type { components, operations } from './api.ts';

export const message: components['schemas']['Message'] = { message: 'Hello' };
export const failure: components['schemas']['Error'] = { code: 'token_expired', description: 'Token is expired' };

type Responses = operations['getScopedMessage']['responses'];
export const success: Responses[200]['content']['application/json'] = message;
export const failures: Responses[401 | 403 | 503 | 'default']['content']['application/json'][] = [failure];

// @ts-expect-error: another type
export const number: components['schemas']['Message'] = { message: 1 };
// @ts-expect-error: a code that the API does not have
export const code: components['schemas']['Error'] = { ...failure, code: 'expired' };
`;

test('types that openapi-typescript generates from the document have the names Message and Error', async () => {
  const { default: generate, astToString } = await import('openapi-typescript');
  const folder = temporaryFolder();
  await Bun.write(join(folder, 'api.ts'), astToString(await generate(await committedDocument.json())));
  await Bun.write(join(folder, 'client.ts'), client);
  const compiler = join(import.meta.dir, '../../node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'preserve', '--allowImportingTsExtensions'];
  const command = [process.execPath, compiler, ...options, join(folder, 'client.ts')];
  expect(await runToEnd(command)).toEqual({ status: 0, stdout: '', stderr: '' });
});
