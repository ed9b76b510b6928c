// Runs here with the sources, and in tests/runtimes with the tarball under Node.js, which has no bun:test.
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { getRequestListener } from '@hono/node-server';
import connect from 'connect';
import express, { type Express } from 'express';
import { Hono } from 'hono';
import polka from 'polka';
import { disguises, handle, honest, protect, tryTargets } from './targets.ts';

const express4: typeof express = createRequire(import.meta.url)('express-4');
type Handler = (request: never, response: { end(text: string): unknown }) => void;
const endpoint: Handler = (request, response) => void response.end(handle('endpoint')(request));
const other: Handler = (request, response) => void response.end(handle('other')(request));

const routed = (app: Express) =>
  app
    .use(protect)
    .all('/mcp', endpoint as never)
    .use(other as never);
const mounted = (app: Express) =>
  app
    .use(protect)
    .use('/mcp', endpoint as never)
    .use(other as never);
const hono = new Hono<{ Bindings: { incoming: never } }>()
  .post('/mcp', ({ env, text }) => text(handle('endpoint')(env.incoming)))
  .post('/mcp/', ({ env, text }) => text(handle('endpoint')(env.incoming)))
  .post('/*', ({ env, text }) => text(handle('other')(env.incoming)));

/** What reads the target of a request behind the middleware. */
const servers: Readonly<Record<string, () => RequestListener>> = {
  'a route of Express 5': () => routed(express()),
  'a route of Express 4': () => routed(express4()),
  'a mount of Express 5': () => mounted(express()),
  'a mount of Express 4': () => mounted(express4()),
  Connect: () =>
    connect()
      .use(protect)
      .use('/mcp', endpoint as never)
      .use(other as never),
  Polka: () =>
    polka({ onNoMatch: other as never })
      .use(protect as never)
      .all('/mcp', endpoint as never).handler as never,
  'node:http with new URL': () => (request, response) =>
    protect(request, response, () => {
      const { pathname } = new URL(`${request.url}`, 'http://localhost');
      (/^\/mcp\/?$/.test(pathname) ? endpoint : other)(request as never, response);
    }),
  'node:http with a decoded and normalized path': () => (request, response) =>
    protect(request, response, () => {
      const { pathname } = new URL(decodeURIComponent(`${request.url}`), 'http://localhost');
      (/^\/+mcp\/?$/i.test(pathname) ? endpoint : other)(request as never, response);
    }),
  'the listener of Hono': () => {
    // Otherwise it replaces `Response` for all tests of the process.
    const listener = getRequestListener(hono.fetch, { overrideGlobalObjects: false });
    return (request, response) => protect(request, response, () => void listener(request, response));
  },
};

test('the table has sixty spellings', () => assert.ok(new Set(disguises).size >= 60));

for (const [name, create] of Object.entries(servers))
  test(`no spelling of the endpoint leads to it without a token: ${name}`, { timeout: 180_000 }, () =>
    // Polka knows no absolute form.
    tryTargets(createServer(create()), name === 'Polka' ? honest.filter((each) => each.startsWith('http')) : []),
  );
