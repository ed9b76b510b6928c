// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the text of other files.
import type { Breaks } from './break.ts';

const errors = 'src/errors.ts';
const escaping = 'src/observe/escape.ts';
const warnings = 'src/settings-warnings.ts';

/** Faults of the service, by the test file that notices each. */
export const serviceBreaks: Breaks = {
  'process/shutdown': [
    [
      'one issuer is enough on SIGHUP',
      'src/process.ts',
      'issuers.every(({ lastFailure })',
      'issuers.some(({ lastFailure })',
    ],
  ],
  'process/flags': [
    ['flags with a value', 'src/cli.ts', ' || token.value !== undefined', ''],
    ['any status is live', 'src/cli.ts', 'status === 200 ? undefined', 'status < 600 ? undefined'],
  ],
  settings: [
    ['connections close while requests wait', warnings, 'jwksTimeoutSeconds + 4', 'jwksTimeoutSeconds - 4'],
    ['a proof for each process', warnings, 'reusePort && isAlone', 'reusePort && !isAlone'],
  ],
  errors: [['a status of the package', errors, 'status === 400 ? 401 : status', 'status']],
  service: [
    [
      'no failed fetches',
      'src/observe/requests.ts',
      'countFetch(event.issuer, event.failure)',
      "countFetch(event.issuer, 'success')",
    ],
  ],
  'observe/escape': [
    ['an endless chain of causes', 'src/observe/log.ts', 'causes - 1', 'causes'],
    ['the rest of a password', escaping, '\\/\\/.*@/s', '\\/\\/.*?@/s'],
    ['the password of the second line', escaping, '\\/\\/.*@/s', '\\/\\/.*@/'],
    ['the query of a URL', escaping, ".replace(/[?#].*/s, '')", ''],
    ['a terminal that C1 controls', escaping, '/[^\\x20-\\x7e]/g', '/[\\x00-\\x1f]/g'],
  ],
  'observe/log': [
    ['a password among the settings', 'src/settings.ts', 'withoutCredentials(value) : value', 'value : value'],
  ],
  'observe/destination': [
    ['a log without a limit', 'src/observe/destination.ts', '> this.#options.maxWaiting', '< 0'],
    ['a line that continues a torn one', 'src/observe/destination.ts', 'this.#isTorn ? `\\n${text}` : text', 'text'],
  ],
  'observe/guard-log': [
    [
      'an outage as information',
      'src/observe/guard-log.ts',
      "log.error({ issuer }, 'Key set",
      "log.info({ issuer }, 'Key set",
    ],
  ],
  'observe/metrics-listener': [
    ['a query in the path', 'src/http/route-table.ts', "url.indexOf('?', start)", '-1'],
    ['metrics at every path', 'src/observe/metrics.ts', "sentPathOf(url) !== '/metrics'", "sentPathOf(url) === ''"],
  ],
  'http/route-table': [
    ['no HEAD where GET is', 'src/http/route-table.ts', "? ['GET', 'HEAD'] : [method]", '? [method] : [method]'],
  ],
  'http/plugin': [
    [
      'the text of an Error that is returned',
      'src/http/plugin.ts',
      'body instanceof Error',
      'body instanceof RangeError',
    ],
    ['a response that breaks its schema', 'src/http/plugin.ts', " && error.type !== 'response'", ''],
  ],
  'http/http-table': [
    ['expired is invalid', errors, "  token_expired: 'token_expired',\n", ''],
    ['no Allow', 'src/http/responses.ts', "if (allow) response.headers.set('Allow', allow.join(', '));", ''],
    ['ready without keys', 'src/routes/health.ts', "if (state === 'ready')", 'if (state.length > 0)'],
    ['no Retry-After of readiness', 'src/routes/health.ts', "    set.headers['retry-after'] = '1';\n", ''],
  ],
  guards: [['a route without its guard', 'src/routes/messages.ts', '.use(protectedMessages)', '']],
  'openapi/document': [
    [
      'no shared response',
      'src/openapi/document.ts',
      "if (status === '401' && required.length === 0)",
      "if (status === '402')",
    ],
  ],
  'dev/banner': [
    ['a pattern of the shell', 'src/dev/banner.ts', '[\\w:/.%=-]+$', '[^ ]+$'],
    ['colours where there are none', 'src/dev/banner.ts', 'hasColour ? ', 'hasDocumentation || hasColour ? '],
  ],
};
