import { beforeAll, expect, test } from 'bun:test';
import { stacks as advised } from '../../src/probe/advice/stacks.ts';
import type { Topic } from '../../src/probe/advice/topics.ts';
import { buildAll, type Stack, stacks, tryStack } from '../stacks/stacks.ts';

// The cells of --stack that say that they were tried: each is set in a server of the stack, and its rows pass there.

const gunicorn = (name: string) => `exec $PYTHON -m gunicorn --log-level error -b 127.0.0.1:$PORT ${name}:app`;
type Server = Pick<Stack, 'language' | 'file' | 'start'> & Partial<Stack>;
const comparedAs = (name: string): Server => {
  const found = stacks.find((each) => each.name === name);
  if (!found) throw new TypeError(`No stack is called ${name}`);
  return found;
};
/** The server of the comparison, with every setting that --stack names. */
const withSettings = (name: string): Server => {
  const server = comparedAs(name);
  return { ...server, start: server.start.replace('exec', 'exec env SETTINGS=all') };
};
/** Servers by the name that --stack takes. Those of the comparison have some settings, too. */
const servers: Readonly<Record<string, Server>> = {
  pyjwt: { language: 'Python', file: 'python/pyjwt_settings.py', start: gunicorn('pyjwt_settings') },
  'python-jose': { language: 'Python', file: 'python/jose_settings.py', start: gunicorn('jose_settings') },
  authlib: comparedAs('Flask with Authlib'),
  'golang-jwt': withSettings('golang-jwt with keyfunc'),
  jwx: withSettings('jwx'),
  'ruby-jwt': withSettings('Sinatra with ruby-jwt'),
  'jsonwebtoken-rust': withSettings('axum with jsonwebtoken'),
  spring: comparedAs('Spring Boot resource server'),
  'mod-auth-openidc': comparedAs('Apache with mod_auth_openidc'),
  haproxy: comparedAs('HAProxy'),
};
/** What a topic is about, in rows. */
const rowsOf: Readonly<Record<Topic, readonly string[]>> = {
  signature: ['signature-stranger', 'altered-payload-claims'],
  algorithms: ['none-empty-signature', 'hmac-pem', 'alg-ps256'],
  issuer: ['issuer-other', 'issuer-missing'],
  audience: ['audience-other', 'audience-missing'],
  expiry: ['expiry-past', 'expiry-five-minutes'],
  notBefore: ['notbefore-hour', 'notbefore-minute'],
  requireExpiry: ['claims-exp-missing'],
  type: ['type-logout', 'type-id'],
  scope: ['scope-none', 'scope-other'],
  keys: ['key-rotated', 'kid-unknown'],
  outage: ['fetch-outage', 'fetch-outage-forged'],
  place: ['elsewhere-query'],
};
const triedTopics = (name: string) =>
  Object.entries(advised[name]?.settings ?? {}).flatMap(([topic, cell]) =>
    cell.startsWith('*') ? [topic as Topic] : [],
  );

let built: ReadonlyMap<string, string | undefined>;
beforeAll(async () => {
  built = await buildAll();
}, 1_800_000);

test('each stack with a cell that was tried has a server', () =>
  expect(Object.keys(advised).filter((name) => triedTopics(name).length > 0)).toEqual(Object.keys(servers)));

test.each(Object.entries(servers))(
  '%s does what its cells say',
  async (name, server) => {
    const why = built.get(server.language);
    if (why !== undefined) return console.log(`Left out: ${name}: ${why}`);
    const only = triedTopics(name).flatMap((topic) => rowsOf[topic]);
    const rows = await tryStack(server, only);
    const wrong = rows.filter(({ id, verdict }) => only.includes(id) && !/^(?:passed|skipped)$/.test(verdict));
    expect(wrong.map(({ id, got }) => `${id}: ${got}`)).toEqual([]);
  },
  300_000,
);
