import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createGuard } from 'protected-api';
import { createTestIssuer } from 'protected-api/testing';
import { moduleFor, routesOf } from '../../runtimes/nest-marks.ts';
import { outcomes } from '../../runtimes/nest-mistakes.ts';
import { bearer } from '../../support/mint.ts';
import { expected, isClosed, type Token, tokens } from '../../support/nest-oracle.ts';

const issuer = await createTestIssuer();
const stranger = await createTestIssuer({ issuer: 'https://stranger.invalid/' });
const sent: Readonly<Record<Token, Record<string, string>>> = {
  'no token': {},
  garbage: bearer('garbage'),
  'another issuer': bearer(await stranger.token({ sub: 'ada', scope: 'admin' })),
  'no scope': bearer(await issuer.token({ sub: 'ada', scope: 'other' })),
  'the scope': bearer(await issuer.token({ sub: 'ada', scope: 'admin' })),
};

// By night, nest-marks.nightly.ts has the oldest and the newest releases, Fastify, GraphQL, gateways and other guards.
describe.each(['nothing', 'A'] as const)('what a route names guards it, beside the global guard %s', (global) => {
  let app: INestApplication;
  let url = '';
  beforeAll(async () => {
    const type = await moduleFor({ guard: createGuard(issuer.options), global, transport: 'http' });
    app = await NestFactory.create(type, { logger: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });
  afterAll(() => app.close());

  test.each(['own', 'inherited', 'overridden'] as const)('%s marks and guards, with every token', async (kind) => {
    const rows = routesOf(kind).flatMap((route) => tokens.map((token) => [route, token] as const));
    const found = await Promise.all(
      rows.map(async ([{ name }, token]) => {
        const response = await fetch(`${url}/${name}`, { headers: sent[token] });
        const text = await response.text();
        return `${name} ${token}: ${response.status} ${response.ok ? text : ''}`;
      }),
    );
    expect(found).toEqual(
      rows.map(([route, token]) => {
        const { status, who } = expected(global, route, token);
        return `${route.name} ${token}: ${status} ${who}`;
      }),
    );
  });
});

test('a class where NestJS needs an object leaves no route open', async () => {
  for (const [isGood, name, outcome] of await outcomes('express'))
    expect([name, outcome, isClosed(isGood, outcome)]).toEqual([name, outcome, true]);
});
