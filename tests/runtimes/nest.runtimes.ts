import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { run } from '../support/child-process.ts';
import { compiled, installedPackage } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { testedOf } from '../support/node-versions.ts';
import { rawRequest } from '../support/raw-http.ts';
import { root } from '../support/repository.ts';

const example = join(root, 'examples/nest.ts');
const scope = 'read:messages';

/** The first lets requests bypass middleware, and the second too, because it is before 11.2. */
const versions = testedOf(['10.4.20', '11.1.9', '12.5.0']);
/** The filter of the documentation of NestJS that catches everything, in the JavaScript of the compiled example. */
const filter = `
import { Catch as catches, HttpException as Thrown } from '@nestjs/common';
class Everything {
  catch(exception, host) {
    const status = exception instanceof Thrown ? exception.getStatus() : 500;
    const { httpAdapter } = this;
    httpAdapter.reply(host.switchToHttp().getResponse(), { statusCode: status }, status);
  }
}
catches()(Everything);
app.useGlobalFilters(Object.assign(new Everything(), { httpAdapter: app.getHttpAdapter() }));
await app.listen(`;
const platforms = {
  express: (text: string) => text,
  fastify: (text: string) =>
    `import { FastifyAdapter } from '@nestjs/platform-fastify';\n${text}`.replace(
      'create(Application, ',
      'create(Application, new FastifyAdapter(), ',
    ),
};

/** Targets that a router may read as /messages, and middleware as something else. */
const targets = `
  /messages /messages/ /messages// //messages /./messages /x/../messages /Reports /reports. /messages;x /messages;/x /messages?x /messages#x
  /%72eports /%2572eports /messages%2f /messages%00 /messages%3fx /messages%20 /%5creports \\reports
  http://a/messages http://a//messages HTTP://a/%72eports`;
const methods = ['GET', 'HEAD', 'POST', 'OPTIONS', 'TRACE', 'QUERY'];

for (const version of versions)
  for (const [platform, change] of Object.entries(platforms))
    describe(`NestJS ${version} on ${platform}, with the tarball under Node.js`, () => {
      const nest = ['common', 'core', `platform-${platform}`].map((name) => `@nestjs/${name}@${version}`);
      const folder = installedPackage(`${nest.join(' ')} reflect-metadata rxjs`);
      const start = (changed: (text: string) => string) =>
        exampleFixture('examples/nest.ts', async (environment) =>
          run(['node', await compiled(example, folder(), changed)], environment),
        );
      const fixture = start(change);
      const filtered = start((text) => change(text).replace('await app.listen(', () => filter));

      for (const [name, current, body] of [
        ['without a filter', fixture, { error: 'missing_token' }],
        ['with a filter that catches everything', filtered, { statusCode: 401 }],
      ] as const)
        test(`sends one 401 with CORS headers, and logs nothing, ${name}`, async () => {
          const { service } = current();
          for (const _ of [1, 2]) {
            const response = await service.fetch('/messages', { headers: { origin: 'https://app.example.test' } });
            expect(response.status).toBe(401);
            expect(response.headers.get('www-authenticate')).toBe(`Bearer scope="${scope}"`);
            expect(response.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
            expect(await response.json()).toMatchObject(body);
          }
          expect((await service.fetch('/health')).status).toBe(200);
          // On a slow machine, NestJS 10 says how long a module took.
          const lines = service.output().trim().split('\n');
          expect(lines.filter((line) => !line.includes('ModuleTokenFactory'))).toEqual([
            expect.stringMatching(/^Listening on /),
          ]);
        });

      test.each([
        ['the scope', { claims: { scope } }, 200],
        ['no scope', { claims: { scope: '' } }, 403],
        ['an expired token', { claims: { scope, exp: 1 } }, 401],
        ['no token', undefined, 401],
      ])('responds to a request with %s', async (_, token, status) => {
        const { service, mint } = fixture();
        const response = await service.fetch('/messages', { headers: token ? bearer(mint(token)) : {} });
        expect(response.status).toBe(status);
        if (status === 200) expect(await response.json()).toEqual({ hello: 'client-1' });
        else expect(response.headers.get('www-authenticate')).toContain(scope);
      });

      test('runs no handler for a request without a token, however it writes the path', async () => {
        const { origin } = fixture().service;
        for (const method of methods)
          for (const target of targets.trim().split(/\s+/)) {
            const response = await rawRequest(origin, [`${method} ${target} HTTP/1.1`, 'Host: a', 'Connection: close']);
            // The handler responds with 500 if no guard has accepted the request.
            expect(response.status, `${method} ${target}`).toBeOneOf([204, 400, 401, 404, 405]);
          }
        expect(await (await fixture().service.fetch('/health')).text()).toBe('ok');
      });
    });
