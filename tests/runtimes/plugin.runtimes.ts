import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { dpopRows, PUBLIC_URL } from '../http/table/dpop.ts';
import { oneOfEach, probeRows } from '../http/table/probed.ts';
import { run, runToEnd } from '../support/child-process.ts';
import { fixtureFor, startFixture } from '../support/fixture.ts';
import { type Form, startService } from '../support/forms.ts';
import { installedPackage } from '../support/installed-package.ts';
import { type IssuerMode, startIssuer } from '../support/issuer.ts';
import { crowdedKeySet, publish, signingKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID, signingKeys } from '../support/mint.ts';
import { isNight, nodePath, nodeVersions } from '../support/node-versions.ts';
import { workerForm } from '../support/worker.ts';

const runtimes: Readonly<Record<string, readonly string[]>> = {
  bun: ['bun'],
  ...Object.fromEntries(nodeVersions.map((version) => [`node ${version}`, [nodePath(version)]])),
  deno: ['deno', 'run', '--allow-all'],
};
const environment = { NO_COLOR: '1' };

const outage = '503 temporarily_unavailable\n';
const endings: readonly (readonly [what: string, mode: IssuerMode, output: string])[] = [
  ['publishes its keys', { kind: 'keys' }, '200 client-1\n'],
  ['fails', { kind: 'response', status: 500 }, outage],
  ['redirects', { kind: 'response', status: 302, headers: { location: '/elsewhere' } }, outage],
  ['compresses', { kind: 'response', headers: { 'content-encoding': 'gzip' }, text: 'no gzip' }, outage],
  ['breaks off', { kind: 'cut off' }, outage],
  ['sends 40 MB', { kind: 'huge' }, outage],
];

const scripts = ['server.mjs', 'one-token.mjs', 'worker.mjs', 'elysia-worker.mjs'];
const folder = installedPackage('elysia', 'runtimes', scripts);

const keys = [publish(signingKey('ML-DSA-44', SIGNING_KID), SIGNING_KID)];
const hasMlDsa = (name: string) => /^(?:bun|deno)$/.test(name) || Number(/^node (\d+)/.exec(name)?.[1]) >= 24;

/**
 * By day, Node.js gets every row. The others get one of each topic, and those that their parser of HTTP could change.
 */
const byDay = [...oneOfEach, 'path', 'scheme', 'credentials', 'dpop'];

function httpTable(form: Form): void {
  const fixture = fixtureFor(form, { keys: crowdedKeySet });
  const only = isNight || form.name.startsWith('node') ? undefined : byDay;
  probeRows(fixture, only);
  dpopRows(fixtureFor(form, { keys: crowdedKeySet, settings: { PUBLIC_URL, DPOP: 'on' } }), 'on', only);

  test.each([
    ['fetched', {}],
    ['given', { keys: { keys } }],
  ])('accepts a token by an ML-DSA key that is %s, or warns that the runtime does not support it', async (_, given) => {
    const settings = { OPTIONS: JSON.stringify({ algorithms: ['ML-DSA-44'], ...given }) };
    await using fixture = await startFixture(form, { keys: () => keys, settings });
    const token = fixture.mint({ header: { alg: 'ML-DSA-44' }, signedAs: 'ML-DSA-44' });
    const { status } = await fixture.get('/api/private', token);
    await fixture.service.close();
    const found = /^Cannot use the keys of .+ has no usable key: (.*)$/m.exec(fixture.service.output())?.[1];
    const unsupported = [503, `${SIGNING_KID}: this runtime does not support ML-DSA-44`];
    expect([status, found]).toEqual(hasMlDsa(form.name) ? [200, undefined] : unsupported);
  });

  test('uses other keys of the set, and warns of an ML-DSA key that the runtime does not support', async () => {
    const both = [...signingKeys(), publish(signingKey('ML-DSA-44', 'post-quantum'), 'post-quantum')];
    const settings = { OPTIONS: JSON.stringify({ algorithms: ['RS256', 'ML-DSA-44'] }) };
    await using fixture = await startFixture(form, { keys: () => both, settings });
    const { status } = await fixture.get('/api/private', fixture.mint());
    await fixture.service.close();
    const warned = /^Cannot use keys of \S+: (.*): this runtime does not support ML-DSA-44$/m;
    const named = warned.exec(fixture.service.output())?.[1];
    expect([status, named]).toEqual([200, hasMlDsa(form.name) ? undefined : 'post-quantum']);
  });
}

describe('the guard under workerd', () => {
  const form = workerForm(() => join(folder(), 'worker.mjs'));
  httpTable(form);

  test.each(['SERVICE', 'OBJECTS'])('asks %s whether a token is revoked, by RPC', async (revocations) => {
    await using fixture = await startFixture(form, { settings: { OPTIONS: JSON.stringify({ revocations }) } });
    const statusOf = async (sid: string) =>
      (await fixture.get('/api/private', fixture.mint({ claims: { sid } }))).status;
    expect([await statusOf('good'), await statusOf('revoked'), await statusOf('broken')]).toEqual([200, 401, 503]);
  });
});

describe('the plugin under workerd', () => {
  const form = workerForm(() => join(folder(), 'elysia-worker.mjs'));
  httpTable(form);

  test('calls a function of the context, and finds parameters', async () => {
    await using fixture = await startFixture(form);
    const statusOf = async (id: string) => (await fixture.get(`/api/owners/${id}`, fixture.mint())).status;
    expect([await statusOf('7'), await statusOf('8')]).toEqual([200, 403]);
  });
});

for (const [name, command] of Object.entries(runtimes))
  describe(`the plugin under ${name}`, () => {
    httpTable({
      name,
      start(settings) {
        const server = [...command, join(folder(), 'server.mjs')];
        return startService((given) => run(server, given), { ...environment, ...settings });
      },
    });

    for (const [what, mode, output] of endings)
      test(`a script that verifies one token exits on its own when the issuer ${what}`, async () => {
        const issuer = await startIssuer();
        issuer.mode = mode;
        const settings = { ISSUER: issuer.url, AUDIENCE, TOKEN: mintToken(issuer.url) };
        const finished = await runToEnd([...command, join(folder(), 'one-token.mjs')], { ...environment, ...settings });
        await issuer.close();
        const stderr = mode.kind === 'keys' ? '' : expect.stringMatching(/^Cannot fetch the keys of .+\n$/);
        expect(finished).toEqual({ status: 0, stdout: output, stderr });
      });
  });
