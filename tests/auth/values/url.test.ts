import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { runToEnd } from '../../support/child-process.ts';

test('a guard is created and decides where URL.canParse and URL.parse are missing', async () => {
  const script = `
    delete URL.canParse;
    delete URL.parse;
    const { createGuard } = await import(${JSON.stringify(join(import.meta.dir, '../../../src/auth/index.ts'))});
    const publicUrl = 'https://api.example.test';
    const options = { issuer: 'http://127.0.0.1:1/', audience: 'a', publicUrl, dpop: 'on' };
    const { check } = createGuard(options);
    const { status } = await check(new Request(publicUrl, { headers: { authorization: 'DPoP a.a.a', dpop: 'a.a.a' } }));
    let fault;
    try { createGuard({ ...options, issuer: 'https://[' }); } catch ({ name }) { fault = name; }
    console.log(status, fault);`;
  expect((await runToEnd([process.execPath, '-e', script])).stdout).toBe('401 TypeError\n');
});
