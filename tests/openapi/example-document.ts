import { join } from 'node:path';
import { createGuard, optionsFromEnvironment } from '../../src/auth/index.ts';
import { formatRejection } from '../../src/errors.ts';
import type { DescribedApi } from '../../src/openapi/about.ts';
import type { OpenApiDocument } from '../../src/openapi/document.ts';
import { ISSUER } from '../support/checked.ts';
import type { Environment } from '../support/child-process.ts';
import { createServiceInProcess } from '../support/in-process.ts';
import { AUDIENCE } from '../support/mint.ts';

/** The file that `bun run openapi` writes, so that a change of the document is visible in a diff. */
export const committedDocument = Bun.file(join(import.meta.dir, '../../docs/openapi.json'));

/** What a document describes besides the routes. */
export function describedApi(): DescribedApi {
  const options = optionsFromEnvironment({ ISSUER, AUDIENCE });
  return { guard: createGuard({ ...options, formatRejection }), options };
}

/** Returns the OpenAPI document of the service with these settings, whose issuer cannot be reached. */
export async function exampleDocument(settings: Environment = {}): Promise<OpenApiDocument> {
  const { get, stop } = createServiceInProcess(settings);
  const response = await get('/openapi/json');
  stop();
  return (await response.json()) as OpenApiDocument;
}

if (import.meta.main) await committedDocument.write(JSON.stringify(await exampleDocument(), null, 2));
