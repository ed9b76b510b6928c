import { expect, test } from 'bun:test';
import { createRefusalHints } from '../../src/observe/guard-log.ts';
import { createLog } from '../../src/observe/log.ts';
import { createService } from '../../src/service.ts';
import { readSettings } from '../../src/settings.ts';

/** Returns a log and the lines that it has written. */
function listeningLog() {
  const lines: Record<string, unknown>[] = [];
  const destination = {
    write: (line: string) => void lines.push(JSON.parse(line)),
    flush: (done: () => void) => done(),
    droppedLines: () => 0,
    onRecovered() {},
  };
  return { log: createLog('info', { isTerminal: false, hasColour: false }, destination), lines };
}

test('createRefusalHints() logs what to do about opaque and encrypted tokens, each once', () => {
  const { log, lines } = listeningLog();
  const hint = createRefusalHints(log);
  for (const reason of ['token_opaque', 'token_malformed', 'token_opaque', 'token_encrypted'] as const) hint(reason);
  expect(lines.map(({ level, outcome }) => [level, outcome])).toEqual([
    ['warn', 'token_opaque'],
    ['warn', 'token_encrypted'],
  ]);
});

test('a service that may fetch keys over plain http warns at the start', () => {
  const { log, lines } = listeningLog();
  const environment = {
    ISSUER: 'http://keycloak.test/realms/a',
    AUDIENCE: 'a',
    DOCS: 'false',
    JWKS_ALLOW_HTTP: 'true',
  };
  const service = createService({ settings: readSettings(environment, false), log, droppedLogLines: () => 0 });
  service.start();
  service.stop();
  expect(lines[0]).toMatchObject({ level: 'warn', msg: expect.stringContaining('JWKS_ALLOW_HTTP') });
});
