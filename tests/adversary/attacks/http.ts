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
const post = (...headers: readonly string[]) => lines('POST /api/public HTTP/1.1', `${HOST}X: 1`, ...headers);
const smuggled = get('/api/private');

const ambiguous = (name: string, rule: string, head: string, body = '0\r\n\r\n'): WireAttack => ({
  name,
  rule,
  bytes: () => `${head}${body}${smuggled}`,
  statuses: [[400]],
  isClosed: true,
});

/** Two parsers could see two different requests: refused, and the connection ended (RFC 9112 §6.3, §11.2). */
const framing: readonly WireAttack[] = [
  ambiguous(
    'Content-Length and Transfer-Encoding',
    'RFC 9112 §6.1',
    post('Content-Length: 6', 'Transfer-Encoding: chunked'),
  ),
  ambiguous(
    'Transfer-Encoding and Content-Length',
    'RFC 9112 §6.1',
    post('Transfer-Encoding: chunked', 'Content-Length: 6'),
  ),
  ambiguous('two lengths', 'RFC 9112 §6.3', post('Content-Length: 0', 'Content-Length: 5'), 'hello'),
  ambiguous('two lengths in one line', 'RFC 9112 §6.3', post('Content-Length: 0, 5'), 'hello'),
  ambiguous('a signed length', 'RFC 9110 §8.6', post('Content-Length: +5'), 'hello'),
  ambiguous('a negative length', 'RFC 9110 §8.6', post('Content-Length: -5'), 'hello'),
  ambiguous('a hexadecimal length', 'RFC 9110 §8.6', post('Content-Length: 0x5'), 'hello'),
  ambiguous('a length beyond 64 bits', 'RFC 9110 §8.6', post('Content-Length: 18446744073709551621'), 'hello'),
  ambiguous('an unknown transfer coding', 'RFC 9112 §6.1', post('Transfer-Encoding: xchunked')),
  ambiguous('chunked not last', 'RFC 9112 §6.3', post('Transfer-Encoding: chunked, identity')),
  ambiguous('chunked twice', 'RFC 9112 §6.1', post('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')),
  ambiguous('two transfer codings', 'RFC 9112 §6.1', post('Transfer-Encoding: chunked', 'Transfer-Encoding: identity')),
  ambiguous('a blank before the colon', 'RFC 9112 §5.1', post('Transfer-Encoding : chunked')),
  ambiguous('a vertical tab before the value', 'RFC 9112 §6.1', post('Transfer-Encoding: \vchunked')),
  ambiguous('a folded Transfer-Encoding', 'RFC 9112 §5.2', post('Transfer-Encoding:', ' chunked')),
  ambiguous('a header without a colon', 'RFC 9112 §5', post('Transfer-Encoding chunked')),
  ambiguous('a control character in a header name', 'RFC 9110 §5.1', post('Content\x01Length: 0')),
  ambiguous('a null byte in a header', 'RFC 9110 §5.5', post('X: a\0b')),
];

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
  ...(['ZZ', '-1', 'FFFFFFFFFFFFFFFFF', '0x1', ' 1', '1;\n'] as const).map((size) => ({
    name: `a chunk of size ${JSON.stringify(size)}, on a request with a token, followed by one without`,
    rule: 'RFC 9112 §7.1',
    bytes: (token: string) =>
      `${get('/api/private', `Authorization: Bearer ${token}`, 'Transfer-Encoding: chunked')}${size}\r\na\r\n0\r\n\r\n${smuggled}`,
    statuses: [[200, 400], [400], [200]],
    isClosed: true,
  })),
];

const badCredentials = (name: string, rule: string, bytes: (token: string) => string): WireAttack => ({
  name,
  rule,
  bytes,
  statuses: [[401], [400], [401, 400], [505]],
});

/** A good token that is not in this request's one Authorization header. */
const credentials: readonly WireAttack[] = [
  badCredentials('an Authorization folded over two lines', 'RFC 9112 §5.2', (token) =>
    get('/api/private', 'Authorization: Bearer', ` ${token}`),
  ),
  badCredentials(
    'an Authorization in the trailers',
    'RFC 9110 §6.5.1',
    (token) =>
      `${get('/api/private', 'Transfer-Encoding: chunked', 'Trailer: Authorization')}0\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  ),
  badCredentials('two Authorizations, the first empty', 'contract', (token) =>
    get('/api/private', 'Authorization:', `Authorization: Bearer ${token}`),
  ),
  badCredentials('two Authorizations, the second empty', 'contract', (token) =>
    get('/api/private', `Authorization: Bearer ${token}`, 'Authorization:'),
  ),
  badCredentials('two Authorizations, alike', 'contract', (token) =>
    get('/api/private', `Authorization: Bearer ${token}`, `authorization: Bearer ${token}`),
  ),
  badCredentials('scheme and token in two Authorizations', 'contract', (token) =>
    get('/api/private', 'Authorization: Bearer', `Authorization: ${token}`),
  ),
  badCredentials('a null byte after the token', 'RFC 9110 §5.5', (token) =>
    get('/api/private', `Authorization: Bearer ${token}\0`),
  ),
  badCredentials('a bare carriage return in the token', 'RFC 9112 §2.2', (token) =>
    get('/api/private', `Authorization: Bearer ${token}\rx`),
  ),
  badCredentials('a token in the path', 'RFC 6750 §2.3', (token) => get(`/api/private?access_token=${token}`)),
  badCredentials(
    'lines that end in a line feed alone',
    'RFC 9112 §2.2',
    (token) => `GET /api/private HTTP/1.1\nHost: a\nAuthorization: Bearer ${token}\n\n`,
  ),
];

const unguarded = (
  name: string,
  rule: string,
  bytes: string,
  ...statuses: readonly (readonly number[])[]
): WireAttack => ({
  name,
  rule,
  bytes: () => bytes,
  statuses: statuses.length > 0 ? statuses : [[401], [400], [404]],
});

/** Ways to reach the guarded path past its guard, without a token. */
const paths: readonly WireAttack[] = [
  ...[
    'http://service.example.test/api/private',
    'http://evil.example.test/api/private',
    'HTTP://EVIL/api/private',
    '//api/private',
    '/api//private',
    '/api/public/../private',
    '/api/./private',
    '/api/%70rivate',
    '/api/private%00',
    '/api/private%2f',
    '/api\\private',
    '/api/private/',
    '/api/private;x=1',
    '/api/private#x',
    '/api/private?',
    '/API/PRIVATE',
    '/api/\xc0\xaeprivate',
    '/%ZZ/api/private',
    '/api/private-scoped',
    '/api/private-scoped/../public',
  ].map((path) =>
    unguarded(`the path ${JSON.stringify(path)}`, 'RFC 9112 §3.2', get(path), [401], [400], [404], [200]),
  ),
  unguarded('a null byte in the path', 'RFC 9112 §3', get('/api/private\0'), [400], [401], [404], [505]),
  unguarded('a blank in the path', 'RFC 9112 §3', get('/api/private x'), [400], [401], [404], [505]),
  ...['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix', 'X-HTTP-Method-Override', 'Forwarded'].map((header) =>
    unguarded(`${header} on a guarded path`, 'CWE-863', get('/api/private', `${header}: /api/public`), [401]),
  ),
  unguarded(
    'a forwarded identity',
    'CWE-290',
    get('/api/private', 'X-Forwarded-User: admin', 'X-Forwarded-For: 127.0.0.1'),
    [401],
  ),
  unguarded('asterisk-form', 'RFC 9112 §3.2.4', get('*'), [400], [404]),
  unguarded(
    'an upgrade to WebSocket',
    'RFC 9110 §7.8',
    get(
      '/api/private',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ),
    [401],
  ),
  unguarded(
    'an upgrade to HTTP/2',
    'RFC 9113 §3.1',
    get('/api/private', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'),
    [401],
  ),
  unguarded('the HTTP/2 preface', 'RFC 9113 §3.4', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400], [505]),
  unguarded('a TLS hello', 'RFC 9112 §3', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', [400], [505]),
  unguarded('HTTP/0.9', 'RFC 9112 §2.3', 'GET /api/private\r\n\r\n', [400], [505], []),
];

/** Methods that are not GET or HEAD never run a handler. */
const methods: readonly WireAttack[] = [
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'TRACE',
  'CONNECT',
  'QUERY',
  'PROPFIND',
  'get',
  'Get',
  'FOO',
  'GETX',
].map((method) => ({
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
  'a',
  'ab',
  'api',
  '',
  ' ',
  'a b',
  'a@b',
  'a/b',
  'evil.test/api/public?',
  'evil.test/api/public#',
  'a\\b',
  '[::1',
  '[::1]',
  '%zz',
  'a:b',
  'a:99999999',
  '999.999.999.999',
  '\xff\xfe',
  'a\tb',
  '<x>',
  '../..',
  'localhost:80:80',
  '?',
  '#',
  '/',
  ':',
  'xn--a',
];
