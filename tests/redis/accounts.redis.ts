import { afterAll, expect, test } from 'bun:test';
import { until } from '../support/child-process.ts';
import { sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE } from '../support/mint.ts';
import { startRedis } from '../support/redis-server.ts';
import { pages, readText } from '../support/repository.ts';

const redis = await startRedis();
const issuer = await startIssuer();
afterAll(() => Promise.all([redis.kill(), issuer.close()]));

const texts = await Promise.all(pages.map((page) => readText(page)));
/** The rules of the account that the page for operators creates. */
const [, rules = ''] = /ACL SETUSER protected-api on >PASSWORD (.*)/.exec(texts.join('\n')) ?? [];

test.each([
  ['as the page says', rules, '/1', 200],
  ['as the page says, without SELECT', rules.replace(' +select', ''), '', 200],
  ['as the page says, without SELECT', rules.replace(' +select', ''), '/1', 503],
  ['as the page says, without INFO', rules.replace(' +info', ''), '/1', 200],
  ['that can write and not read', rules.replace('~', '%W~'), '', 503],
  ['that can use other keys', rules.replace('dpop:', 'other:'), '', 503],
])('with an account %s (%s), and the database %j, /readyz is %i', async (_, given, database, status) => {
  expect(rules).toContain('+set');
  await redis.command('ACL', 'SETUSER', 'api', 'reset', 'on', '>pw', ...given.split(' '));
  const REDIS_URL = `redis://api:pw@127.0.0.1:${redis.port}${database}`;
  const dpop = { DPOP: 'required', PUBLIC_URL: 'https://api.example.test', REDIS_URL };
  const service = await sourceForm.start({ ISSUER: issuer.url, AUDIENCE, ...dpop });
  const isConnected = () => service.output().includes('Connected to the replay store');
  await until(() => isConnected() || service.output().includes('NOPERM'), 'what Redis says');
  expect(isConnected()).toBe(status === 200);
  await until(async () => (await service.fetch('/readyz')).status === status, `a ${status}`);
  await service.close();
});
