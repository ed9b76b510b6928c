import { cors } from '@elysiajs/cors';
import { serverTiming } from '@elysiajs/server-timing';
import { Elysia } from 'elysia';
import { helmet } from 'elysia-helmet';
import { requestID } from 'elysia-requestid';
import logixlysia from 'logixlysia';
import { resourceServer } from 'protected-api/elysia';
import { createTestIssuer } from 'protected-api/testing';
import { exporter, instrumentation } from './instrumentation.mjs';

/** Prints what each plugin of docs/start/elysia.md adds to a 401, as one JSON object. */
const { options } = await createTestIssuer();
const plugins = {
  opentelemetry: () => instrumentation,
  cors: () => cors(),
  helmet: () => helmet(),
  requestID: () => requestID(),
  serverTiming: () => serverTiming({ enabled: true }),
  logixlysia: () => logixlysia(),
};
const known = ['content-type', 'content-length', 'cache-control', 'www-authenticate', 'date'];
const seen = {};
for (const [name, plugin] of Object.entries(plugins)) {
  const app = new Elysia().use(plugin()).get('/health', () => 'ok');
  app
    .use(resourceServer(options, { publicBefore: true }))
    .get('/a', () => 'a')
    .listen({ port: 0, hostname: '127.0.0.1' });
  exporter.reset();
  const response = await fetch(`http://127.0.0.1:${app.server?.port}/a`);
  // The span ends after the response.
  for (let turn = 0; turn < 100 && name === 'opentelemetry' && exporter.getFinishedSpans().length < 3; turn++)
    await new Promise((done) => setTimeout(done, 10));
  seen[name] = {
    status: response.status,
    headers: [...response.headers.keys()].filter((header) => !known.includes(header)).length > 0,
    span: exporter.getFinishedSpans().find(({ attributes }) => attributes['http.response.status_code'])?.name,
  };
  await app.stop(true);
}
console.log(`SEEN ${JSON.stringify(seen)}`);
process.exit();
