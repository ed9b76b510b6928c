import { afterAll, expect, test } from 'bun:test';
import { createGuard } from 'protected-api';
import { follow, startChangingIssuer, unwanted, wanted } from '../support/changing-issuer.ts';
import { freePort, type RunningProcess, untilReachable } from '../support/child-process.ts';
import { startNginx } from './proxies.ts';

const proxies: RunningProcess[] = [];
afterAll(() => {
  for (const proxy of proxies) proxy.signal('SIGTERM');
});

test.each<[name: string, line: string, said: string[]]>([
  ['that asks the issuer when the request says no-cache', 'proxy_cache_bypass $http_cache_control;', wanted],
  // Then reload() cannot know either, as the pages on key rotation say.
  ['that ignores the request', '', unwanted],
])('keys and metadata through a cache of nginx %s', async (_, line, said) => {
  const frontend = `127.0.0.1:${await freePort()}`;
  const origin = `http://${frontend}`;
  await using issuer = startChangingIssuer(origin);
  const proxy = startNginx(`proxy_cache_path cache keys_zone=cache:1m;
    server { listen ${frontend}; location / { proxy_pass http://127.0.0.1:${issuer.port}; proxy_cache cache; ${line} } }`);
  proxies.push(proxy);
  await untilReachable(`${origin}/keys`, proxy);
  const guard = createGuard({ issuer: origin, audience: issuer.audience, onKeySetEvent() {} });
  expect(await follow(guard, issuer)).toEqual(said);
});
