// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the text of other files.
import type { Breaks } from './break.ts';

const decide = 'src/auth/guard/decide.ts';
const gate = 'src/auth/elysia/gate.ts';
const routes = 'src/auth/elysia/routes.ts';

/** Faults of the doors of `protected-api`, by the test file that notices each. */
export const doorBreaks: Breaks = {
  // Requests are tried at every door.
  'examples/servers': [
    ['parts after a token', 'src/auth/guard/credentials.ts', ' && rest.length === 0', ''],
    ['a used proof', decide, 'if (used) return rejected(used);', ''],
    ['no scope', decide, 'policy.check(ownClaims) ?? checkAnyScope', 'checkAnyScope'],
    ['one of two headers', 'src/auth/node/incoming.ts', 'rawHeaders.length > 0', 'rawHeaders.length < 0'],
  ],
  'auth/node/servers': [
    [
      'Host and target mixed up',
      'src/auth/node/incoming.ts',
      '`http://localhost${target}`',
      '`http://localhost${target.slice(1)}`',
    ],
  ],
  // By day, the matrix has pairs of values instead of each combination.
  'auth/elysia/matrix': [
    ['no gate for upgrades', gate, "isUpgrade ? 'WS' : ''", "''"],
    ['no gate for all methods', gate, ", 'ALL'];", '];'],
    ['the gate of a parent serves', gate, 'for (const store of stores) store.handler = gated;', ''],
    ['options lost after a falsy one', routes, '{ detail: detail || {}, ...others,', '{ ...others,'],
    ['values served without hooks', routes, 'toFunction(handler)', 'handler'],
    ['functions after hooks', routes, '  putFunctionsFirst(hooks);\n', ''],
  ],
  'auth/mcp/endpoint': [
    ['a session for anybody', 'src/auth/mcp/endpoint.ts', 'owner ? owner.user !== user', 'owner ? false'],
    ['any host', 'src/auth/mcp/endpoint.ts', 'if (!rules.isAllowedHost(request))', 'if (request.url === "")'],
  ],
  'auth/mcp/handles': [
    ['sessions that left are counted', 'src/auth/mcp/handles.ts', 'void this.#count(user, -1)', 'void user'],
  ],
  'auth/nestjs/marks': [
    ['@Public() opens every guard', 'src/auth/nestjs/token-guard.ts', 'opens ? [] : [ofGuard]', '[]'],
  ],
  'types/compilers': [
    [
      'an undocumented option',
      'src/auth/types.ts',
      '  /** Tolerated clock difference',
      '  // Tolerated clock difference',
    ],
  ],
  'auth/redis/redis-replay-store': [
    [
      'a proof that was forgotten',
      'src/auth/redis.ts',
      "if (data.mayHaveForgotten(issuedAtMs)) throw new StoreError('old');",
      '',
    ],
  ],
};
