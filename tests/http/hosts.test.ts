import { expect, test } from 'bun:test';
import { createTestApp } from '../support/test-app.ts';

const { app } = createTestApp();

for (const scheme of ['http', 'https']) {
  for (const host of ['a', 'a:1', 'localhost', '127.0.0.1:3010', '[::1]:3010', `${'long.'.repeat(40)}test`]) {
    test(`paths are the same behind ${scheme}://${host}`, async () => {
      const statuses = ['/api/public?a=1', '/api/private', '/x/api/public', '/'].map(
        async (path) => (await app.fetch(new Request(`${scheme}://${host}${path}`))).status,
      );
      expect(await Promise.all(statuses)).toEqual([200, 401, 404, 200]);
    });
  }
}
