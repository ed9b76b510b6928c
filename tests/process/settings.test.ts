import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { type Environment, freePort, runToEnd } from '../support/child-process.ts';
import { expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { type CommandForm, executableForm, sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(30_000);

const ISSUER = 'https://issuer.example.test/';
const good = { ISSUER, AUDIENCE };

function expectRefusal({ status, stdout, stderr }: Awaited<ReturnType<typeof runToEnd>>): void {
  expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: '' });
  expect(stderr, 'no stack trace').not.toMatch(/^\s+at |node:|\.ts:\d/m);
}

const startWith = async (form: CommandForm, environment: Environment) =>
  runToEnd(await form.command(), { HOST: '127.0.0.1', PORT: '0', ...environment });

function describeBadStarts(form: CommandForm): void {
  test('wrong settings are a line each, all at once', async () => {
    const finished = await startWith(form, { ISSUER: 'x', PORT: '65536', PUBLIC_URL: 'https://somebody:hunter2@x/' });
    expectRefusal(finished);
    expect(finished.stderr.trim().split('\n')).toEqual([
      'Cannot read settings:',
      ...['ISSUER', 'AUDIENCE', 'PUBLIC_URL', 'PORT'].map((name) => expect.stringContaining(`  ${name} must be `)),
    ]);
    expect(finished.stderr).not.toContain('hunter2');
  });

  test('neither ISSUER nor AUDIENCE in production is two problems', async () => {
    const finished = await startWith(form, { NODE_ENV: 'production' });
    expectRefusal(finished);
    expect(finished.stderr).toMatch(/^Cannot read settings:\n *ISSUER must .*\n *AUDIENCE must .*\n$/);
  });

  test('reports an address of another machine in one line', async () => {
    const finished = await startWith(form, { ...good, HOST: '203.0.113.1' });
    expectRefusal(finished);
    expect(finished.stderr.trim().split('\n')).toEqual([expect.stringContaining('203.0.113.1')]);
  });
}

function describePortInUse(form: CommandForm): void {
  // It would share its port, so that a service that shares its own without being asked is seen.
  const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, reusePort: true, fetch: () => new Response() });
  const port = String(taken.port);
  afterAll(() => void taken.stop(true));

  for (const setting of ['PORT', 'METRICS_PORT']) {
    test(`reports a ${setting} in use in one line`, async () => {
      const environment = { ...good, HOST: '127.0.0.1', PORT: String(await freePort()), [setting]: port };
      const { status, stderr } = await runToEnd(await form.command(), environment);
      expect(status, stderr).toBe(1);
      expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(port)]);
      expect(stderr).toMatch(/in use/);
    });
  }
}

/** What the issuer calls itself, by how it is configured; its keys are always where the stand-in has them. */
const goodSettings: readonly {
  name: string;
  iss: (origin: string) => string;
  settings: (url: string) => Environment;
}[] = [
  { name: 'http on 127.0.0.1', iss: (url) => url, settings: (url) => ({ ISSUER: url }) },
  {
    name: 'http on localhost',
    iss: (url) => url.replace('127.0.0.1', 'localhost'),
    settings: (url) => ({ ISSUER: url.replace('127.0.0.1', 'localhost') }),
  },
  {
    name: 'a path',
    iss: (url) => `${url}tenant/`,
    settings: (url) => ({ ISSUER: `${url}tenant/` }),
  },
  {
    name: 'JWKS_URI and no trailing slash',
    iss: (url) => `${url}realms/a`,
    settings: (url) => ({ ISSUER: `${url}realms/a`, JWKS_URI: `${url}.well-known/jwks.json` }),
  },
];

function describeGoodSettings(form: CommandForm): void {
  for (const { name, iss, settings } of goodSettings) {
    test(`an issuer with ${name} is accepted, and its tokens are`, async () => {
      const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
      const service = await form.start({ AUDIENCE, ...settings(issuer.url) });
      try {
        const headers = bearer(mintToken(iss(issuer.url)));
        await expectMessage(await service.fetch('/api/private-scoped', { headers }));
      } finally {
        expect(await service.close()).toBe(0);
        await issuer.close();
      }
    });
  }
}

for (const form of [sourceForm, executableForm]) {
  describe(form.name, () => {
    beforeAll(async () => void (await form.command()), form.startTimeoutMs);
    describe('settings', () => describeBadStarts(form));
    describe('listening', () => describePortInUse(form));
    describe('settings of', () => describeGoodSettings(form));
  });
}
