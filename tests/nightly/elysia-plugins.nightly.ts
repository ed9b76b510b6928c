import { expect, test } from 'bun:test';
import { runToEnd } from '../support/child-process.ts';
import { installedPackage } from '../support/installed-package.ts';

/** What the table "Other plugins and rejections" of docs/start/elysia.md says of real plugins. */
const plugins =
  '@elysiajs/opentelemetry@1.4.11 @elysiajs/server-timing@1.4.1 elysia-helmet@3.1.0 elysia-requestid@1.0.9 logixlysia@6.9.2';
const files = ['instrumentation.mjs', 'plugins.mjs'];
const folder = installedPackage(`elysia @sinclair/typebox @elysiajs/cors ${plugins}`, 'nightly/elysia', files);

const sent = { status: 401, headers: true };
const unseen = { status: 401, headers: false };

test.each([
  ['preloaded', '--preload ./instrumentation.mjs ./plugins.mjs'],
  ['imported first', "-e 'await import(`./instrumentation.mjs`); await import(`./plugins.mjs`)'"],
])('plugins see a rejection as the page says, with instrumentation that is %s', async (_, run) => {
  const { stdout, stderr } = await runToEnd(['sh', '-c', `cd ${folder()} && exec ${process.execPath} ${run}`]);
  const [, seen = stderr] = /^SEEN (.*)$/m.exec(stdout) ?? [];
  expect(JSON.parse(seen)).toEqual({
    opentelemetry: { ...unseen, span: 'GET /a' },
    cors: sent,
    helmet: sent,
    requestID: sent,
    serverTiming: unseen,
    logixlysia: unseen,
  });
});
