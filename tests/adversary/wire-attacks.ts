/** Bytes on the wire, and what may come back. */
export interface WireAttack {
  readonly name: string;
  readonly rule: string;
  /** Written with a good token, where the attack has one. */
  readonly bytes: (token: string) => string;
  /** The answers, in order, that are right; any of these lists. An empty one is a connection closed without an answer. */
  readonly statuses: readonly (readonly number[])[];
  /** The service must end the connection, because it is unknown where the next request begins. */
  readonly isClosed?: boolean;
}

const HOST = 'Host: service.example.test\r\n';
export const lines = (...all: readonly string[]) => `${all.join('\r\n')}\r\n\r\n`;
const get = (path: string, ...headers: readonly string[]) => lines(`GET ${path} HTTP/1.1`, `${HOST}X: 1`, ...headers);
const smuggled = get('/api/private');

const headersOfTwoReadings: readonly (readonly [section: string, headers: readonly string[]])[] = [
  ['§6.1', ['Content-Length: 6', 'Transfer-Encoding: chunked']],
  ['§6.1', ['Transfer-Encoding: chunked', 'Content-Length: 6']],
  ['§6.3', ['Content-Length: 0', 'Content-Length: 5']],
  // A list, signs, another base, and beyond 64 bits.
  ...['0, 5', '+5', '-5', '0x5', '18446744073709551621'].map(
    (length) => ['§6.3', [`Content-Length: ${length}`]] as const,
  ),
  ['§6.1', ['Transfer-Encoding: xchunked']],
  ['§6.3', ['Transfer-Encoding: chunked, identity']],
  ['§6.1', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
  ['§6.1', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity']],
  ['§5.1', ['Transfer-Encoding : chunked']],
  ['§6.1', ['Transfer-Encoding: \vchunked']],
  ['§5.2', ['Transfer-Encoding:', ' chunked']],
  ['§5', ['Transfer-Encoding chunked']],
  ['§5.1', ['Content\x01Length: 0']],
  ['§5', ['X: a\0b']],
];
/** Two parsers could see two different requests: refused, and the connection ended (RFC 9112 §6.3, §11.2). */
const framing = headersOfTwoReadings.map(([section, headers]): WireAttack => {
  const body = headers.every((header) => header.startsWith('Content-Length')) ? 'hello' : '0\r\n\r\n';
  const head = lines('POST /api/public HTTP/1.1', `${HOST}X: 1`, ...headers);
  const name = JSON.stringify(headers.join(', '));
  return { name, rule: `RFC 9112 ${section}`, bytes: () => head + body + smuggled, statuses: [[400]], isClosed: true };
});

/** A body that looks like a request is a body. */
const bodies: readonly WireAttack[] = [
  {
    name: 'a request in the body of a request',
    rule: 'RFC 9112 §11.2',
    bytes: () => get('/api/public', `Content-Length: ${smuggled.length}`) + smuggled,
    statuses: [[200]],
  },
  {
    name: 'a request in a chunk',
    rule: 'RFC 9112 §7.1',
    bytes: () =>
      `${get('/api/public', 'Transfer-Encoding: chunked')}${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
    statuses: [[200]],
  },
  ...['ZZ', '-1', 'FFFFFFFFFFFFFFFFF', '0x1', ' 1', '1;\n'].map((size) => ({
    name: `a chunk of size ${JSON.stringify(size)}, on a request with a token, followed by one without`,
    rule: 'RFC 9112 §7.1',
    bytes: (token: string) =>
      `${get('/api/private', `Authorization: Bearer ${token}`, 'Transfer-Encoding: chunked')}${size}\r\na\r\n0\r\n\r\n${smuggled}`,
    statuses: [[200, 400], [400], [200]],
    isClosed: true,
  })),
];

/** A good token, in place of TOKEN, that is not in this request's one Authorization header. */
const credentials: readonly WireAttack[] = (
  [
    ['RFC 9112 §5.2', get('/api/private', 'Authorization: Bearer', ' TOKEN')],
    [
      'RFC 9110 §6.5.1',
      `${get('/api/private', 'Transfer-Encoding: chunked', 'Trailer: Authorization')}0\r\nAuthorization: Bearer TOKEN\r\n\r\n`,
    ],
    ['contract', get('/api/private', 'Authorization:', 'Authorization: Bearer TOKEN')],
    ['contract', get('/api/private', 'Authorization: Bearer TOKEN', 'Authorization:')],
    ['contract', get('/api/private', 'Authorization: Bearer TOKEN', 'authorization: Bearer TOKEN')],
    ['contract', get('/api/private', 'Authorization: Bearer', 'Authorization: TOKEN')],
    ['RFC 9110 §5.5', get('/api/private', 'Authorization: Bearer TOKEN\0')],
    ['RFC 9112 §2.2', get('/api/private', 'Authorization: Bearer TOKEN\rx')],
    ['RFC 6750 §2.3', get('/api/private?access_token=TOKEN')],
    ['RFC 9112 §2.2', 'GET /api/private HTTP/1.1\nHost: a\nAuthorization: Bearer TOKEN\n\n'],
  ] as const
).map(([rule, request]) => ({
  name: JSON.stringify(request.replace(`${HOST}X: 1\r\n`, '')),
  rule,
  bytes: (token) => request.replaceAll('TOKEN', token),
  statuses: [[401], [400], [401, 400], [505]],
}));

const unguarded = (name: string, rule: string, bytes: string, ...statuses: readonly number[]): WireAttack => ({
  name,
  rule,
  bytes: () => bytes,
  statuses: statuses.map((status) => [status]),
});
const upgrade = (protocol: string, ...headers: readonly string[]) =>
  get('/api/private', 'Connection: Upgrade', `Upgrade: ${protocol}`, ...headers);

/** Ways to reach the guarded path past its guard, without a token. */
const paths: readonly WireAttack[] = [
  ...[
    ...['http://service.example.test/api/private', 'http://evil.example.test/api/private', 'HTTP://EVIL/api/private'],
    ...['//api/private', '/api//private', '/api/public/../private', '/api/./private', '/api/%70rivate'],
    ...['/api/private%00', '/api/private%2f', '/api\\private', '/api/private/', '/api/private;x=1', '/api/private#x'],
    ...['/api/private?', '/API/PRIVATE', '/api/\xc0\xaeprivate', '/%ZZ/api/private', '/api/private-scoped'],
    '/api/private-scoped/../public',
  ].map((path) => unguarded(`the path ${JSON.stringify(path)}`, 'RFC 9112 §3.2', get(path), 401, 400, 404, 200)),
  ...['/api/private\0', '/api/private x'].map((path) =>
    unguarded(`the path ${JSON.stringify(path)}`, 'RFC 9112 §3', get(path), 400, 401, 404, 505),
  ),
  ...['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix', 'X-HTTP-Method-Override', 'Forwarded'].map((header) =>
    unguarded(`${header} on a guarded path`, 'CWE-863', get('/api/private', `${header}: /api/public`), 401),
  ),
  unguarded('a forwarded identity', 'CWE-290', get('/api/private', 'X-Forwarded-User: admin'), 401),
  unguarded('asterisk-form', 'RFC 9112 §3.2.4', get('*'), 400, 404),
  unguarded(
    'an upgrade to WebSocket',
    'RFC 9110 §7.8',
    upgrade('websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='),
    401,
  ),
  unguarded('an upgrade to HTTP/2', 'RFC 9113 §3.1', upgrade('h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'), 401),
  unguarded('the HTTP/2 preface', 'RFC 9113 §3.4', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 505),
  unguarded('a TLS hello', 'RFC 9112 §3', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400, 505),
  {
    ...unguarded('HTTP/0.9', 'RFC 9112 §2.3', 'GET /api/private\r\n\r\n'),
    statuses: [[400], [505], []],
  },
];

/** Methods that are not GET or HEAD never run a handler. */
const methods: readonly WireAttack[] = 'POST PUT PATCH DELETE TRACE CONNECT QUERY PROPFIND get Get FOO GETX'
  .split(' ')
  .map((method) => ({
    name: `the method ${method} with a good token`,
    rule: 'RFC 9110 §9.1',
    bytes: (token) =>
      lines(`${method} /api/private HTTP/1.1`, `${HOST}Authorization: Bearer ${token}`, 'Content-Length: 0'),
    statuses: [[405], [404], [400], [501], []],
  }));

/** What a raw socket can send that fetch() would not. */
export const wireAttacks: Readonly<Record<string, readonly WireAttack[]>> = {
  'ambiguous framing': framing,
  'requests inside bodies': bodies,
  'a good token in the wrong place': credentials,
  'a guarded path without a token': paths,
  'methods that nothing takes': methods,
};

/** Host values that make an address no URL, or one with another path. */
export const hosts: readonly string[] = [
  ...['a', 'ab', 'api', '', ' ', 'a b', 'a@b', 'a/b', 'evil.test/api/public?', 'evil.test/api/public#', 'a\\b', '[::1'],
  ...['[::1]', '%zz', 'a:b', 'a:99999999', '999.999.999.999', '\xff\xfe', 'a\tb', '<x>', '../..', 'localhost:80:80'],
  ...['?', '#', '/', ':', 'xn--a'],
];
