import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { createGuard, resourceServer } from '../../src/auth/index.ts';
import { createRouteTable } from '../../src/http/route-table.ts';
import { createLog } from '../../src/observe/log.ts';
import { createRequestCounts } from '../../src/observe/request-counts.ts';
import { createObservation } from '../../src/observe/requests.ts';
import { bearer } from '../support/fixture.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';

const issuer = 'https://issuer.example.test/';

/** An application that is observed as the service is. */
function createObserved() {
  const lines: string[] = [];
  const log = createLog(
    'debug',
    { isTerminal: false, hasColour: false },
    { write: (line) => void lines.push(line), flush() {}, droppedLines: () => 0, onRecovered() {} },
  );
  const counts = createRequestCounts([]);
  const { wrap, onAccepted, onRefused } = createObservation({ log, counts });
  const keys = { keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID)] };
  const guard = createGuard({ issuer, audience: AUDIENCE, keys, onAccepted, onRefused });
  const app = new Elysia()
    .use(resourceServer(guard))
    .get('/plain', () => 'ok')
    .get('/scoped', () => 'ok', { scope: 'a' })
    .get('/function', () => 'ok', { scope: () => 'a' })
    .get('/acr', () => 'ok', { acr: 'high' })
    .get('/authorize', () => 'ok', { authorize: () => false });
  const routes = createRouteTable(app.routes);
  const fetch = wrap(app.fetch, ({ method, url }) => routes.find(method, new URL(url).pathname));
  return { fetch, lines, outcomes: counts.outcomes };
}

describe('a request has one outcome, in the log and in the metrics', () => {
  const token = (claims = {}) => bearer(mintToken(issuer, { claims: { sub: 'ada', client_id: 'web', ...claims } }));
  for (const { path, headers, status, outcome, isKnown } of [
    { path: '/plain', headers: token, status: 200, outcome: 'accepted', isKnown: true },
    { path: '/plain', headers: () => ({}), status: 401, outcome: 'credentials_missing', isKnown: false },
    { path: '/plain', headers: () => token({ exp: 1 }), status: 401, outcome: 'token_expired', isKnown: false },
    { path: '/scoped', headers: token, status: 403, outcome: 'scope_insufficient', isKnown: true },
    { path: '/function', headers: token, status: 403, outcome: 'scope_insufficient', isKnown: true },
    { path: '/acr', headers: token, status: 401, outcome: 'authentication_insufficient', isKnown: true },
    { path: '/authorize', headers: () => token({ scope: 'a' }), status: 403, outcome: 'access_denied', isKnown: true },
  ])
    test(`${outcome} at ${path}`, async () => {
      const { fetch, lines, outcomes } = createObserved();
      const response = await fetch(new Request(`http://localhost${path}`, { headers: headers() }));
      expect(response.status).toBe(status);
      expect(Object.entries(outcomes()).filter(([, count]) => count !== 0)).toEqual([[outcome, 1]]);
      const known = isKnown ? { sub: 'ada', client_id: 'web' } : {};
      const { outcome: logged, sub, client_id } = JSON.parse(lines.join()) as Record<string, unknown>;
      expect({ outcome: logged, sub, client_id }).toEqual({ outcome, sub: undefined, client_id: undefined, ...known });
    });
});
