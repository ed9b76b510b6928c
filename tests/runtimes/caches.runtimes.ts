import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { startChangingIssuer, wanted } from '../support/changing-issuer.ts';
import { runToEnd } from '../support/child-process.ts';
import { newestNode, nodePath, nodeVersions } from '../support/node-versions.ts';
import { bundle } from '../support/worker.ts';

/** undici is CommonJS, which requires modules of Node.js. */
const required = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);\n";
const script = required + (await bundle(join(import.meta.dir, 'cached-issuer.mjs'), 'node'));

test.each([...new Set([...nodeVersions, newestNode])])(
  'on Node.js %s, keys and metadata are asked for anew through the cache of undici',
  async (version) => {
    await using issuer = startChangingIssuer();
    const { audience, tokens } = issuer;
    const GIVEN = JSON.stringify({ issuer: issuer.issuer, audience, tokens });
    const { stdout, stderr } = await runToEnd([nodePath(version), 'run.mjs'], { GIVEN }, { 'run.mjs': script });
    const [first, cached, ...others] = stdout.trim().split('\n');
    // What else the application fetches comes from the cache, so there is one.
    expect([[first, ...others], cached, stderr]).toEqual([wanted, 'cached: 1', '']);
  },
);
