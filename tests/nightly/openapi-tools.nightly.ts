import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import { audience, issuer, load, url } from '../docs/blocks.ts';
import { documents } from '../docs/documents.ts';
import { fixtureFor } from '../support/fixture.ts';
import { inProcessForm } from '../support/in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The generators, with the file that each writes. Each runs as its users run it. */
const generators: Readonly<Record<string, readonly [command: string, file: string]>> = {
  'openapi-typescript': [
    'npx --yes -p typescript@5.9.3 -p openapi-typescript@7.13.0 openapi-typescript api.json -o types.d.ts',
    'types.d.ts',
  ],
  orval: ['npx --yes orval@8.38.0 --input api.json --output orval.ts', 'orval.ts'],
  'hey-api': [
    'npx --yes -p typescript@5.9.3 -p @hey-api/openapi-ts@0.99.0 openapi-ts -i api.json -o hey-api',
    'hey-api/sdk.gen.ts',
  ],
};

for (const [name, document] of Object.entries(documents))
  describe(`the document of ${name}`, () => {
    for (const [tool, [command, file]] of Object.entries(generators))
      test(`gives ${tool} a client that shadows no global`, async () => {
        const folder = temporaryFolder();
        await Bun.write(join(folder, 'api.json'), JSON.stringify(document));
        await $`${{ raw: command }}`.cwd(folder).quiet();
        const written = await Bun.file(join(folder, file)).text();
        expect(written.length).toBeGreaterThan(500);
        expect(written).not.toMatch(/\b(?:type|interface) Error\b|^\s*Error: \{/m);
        if (tool === 'hey-api' && !name.includes('DPoP')) expect(written).toContain("scheme: 'bearer'");
      }, 600_000);
  });

/** Sends each request of the collection that Postman makes of a document, with a token, and returns the statuses. */
async function statusesOf(document: object, origin: string, token: string): Promise<readonly number[]> {
  const folder = temporaryFolder();
  await Bun.write(join(folder, 'api.json'), JSON.stringify({ ...document, servers: [{ url: origin }] }));
  const convert = 'npx --yes -p openapi-to-postmanv2@6.3.3 openapi2postmanv2 -s api.json -o collection.json';
  await $`${{ raw: convert }}`.cwd(folder).quiet();
  const run = 'npx --yes newman@6.2.2 run collection.json --reporters json --reporter-json-export report.json';
  await $`${{ raw: run }} --env-var ${`bearerToken=${token}`}`.cwd(folder).quiet();
  const { run: ran } = await Bun.file(join(folder, 'report.json')).json();
  return ran.executions.map(({ response }: { readonly response: { readonly code: number } }) => response.code);
}

const service = fixtureFor(inProcessForm);
describe('Newman gets a response from each route, with the first scheme', () => {
  test('of the service', async () => {
    const { origin } = service().service;
    expect(await statusesOf(documents['the service'] ?? {}, origin, service().mint())).toEqual([200, 200, 200]);
  }, 600_000);

  test.each([
    ['the guide for Elysia', 'guides/openapi'],
    ['the recipe for Hono', 'guides/openapi#Hono and Express 2'],
  ])(
    'of %s',
    async (name, block) => {
      const { app } = await load(block);
      const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => app.fetch(request) });
      const token = await issuer.token({ iss: url, aud: audience, scope: 'read:orders' });
      expect(await statusesOf(documents[name] ?? {}, `http://127.0.0.1:${server.port}`, token)).toEqual([200]);
      await server.stop(true);
    },
    600_000,
  );
});
