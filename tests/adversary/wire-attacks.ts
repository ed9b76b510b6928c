/** What a raw socket can send that fetch() would not, and what may come back. */
interface WireAttacks {
  readonly rule: string;
  /** With `TOKEN` where a good token belongs. */
  readonly requests: readonly string[];
  /**
   * The correct statuses of the responses, in order; any of these lists. An empty list means that the connection closes
   * without a response.
   */
  readonly statuses: readonly (readonly number[])[];
  /**
   * Whether the service must end the connection, because it is unknown where the next request begins, or must keep it.
   */
  readonly isClosed?: boolean;
}

export const lines = (...all: readonly string[]) => `${all.join('\r\n')}\r\n\r\n`;
export const HOST = 'Host: service.example.test';
const get = (path: string, ...headers: readonly string[]) => lines(`GET ${path} HTTP/1.1`, HOST, 'X: 1', ...headers);
const guarded = (...headers: readonly string[]) => get('/api/private', ...headers);
const smuggled = guarded();
const chunks = (size: string, chunk: string) => `${size}\r\n${chunk}\r\n0\r\n\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked';

/** Two parsers could see two different requests in each of these. */
const framings: readonly (readonly string[])[] = [
  ['Content-Length: 6', CHUNKED],
  [CHUNKED, 'Content-Length: 6'],
  ['Content-Length: 0', 'Content-Length: 5'],
  // A list, signs, another base, and beyond 64 bits.
  ...['0, 5', '+5', '-5', '0x5', '18446744073709551621'].map((length) => [`Content-Length: ${length}`]),
  ...[['Transfer-Encoding: xchunked'], [`${CHUNKED}, identity`], [CHUNKED, CHUNKED]],
  ...[[CHUNKED, 'Transfer-Encoding: identity'], ['Transfer-Encoding : chunked'], ['Transfer-Encoding: \vchunked']],
  ...[['Transfer-Encoding:', ' chunked'], ['Transfer-Encoding chunked'], ['Content\x01Length: 0'], ['X: a\0b']],
];
const paths = [
  ...['http://service.example.test/api/private', 'http://evil.example.test/api/private', 'HTTP://EVIL/api/private'],
  ...['//api/private', '/api//private', '/api/public/../private', '/api/./private', '/api/%70rivate'],
  ...['/api/private%00', '/api/private%2f', '/api\\private', '/api/private/', '/api/private;x=1', '/api/private#x'],
  ...['/api/private?', '/API/PRIVATE', '/api/\xc0\xaeprivate', '/%ZZ/api/private', '/api/private-scoped'],
  ...['/api/private-scoped/../public', '/api/private\0', '/api/private x', '*', '/api/private//', '/api/PRIVATE'],
  ...['/api/x/../private', '/api%2Fprivate', '/api/private.json', '/api/private-scoped/', '/api/private-scoped%20'],
];
const methods = 'POST PUT PATCH DELETE TRACE CONNECT QUERY PROPFIND get Get FOO GETX'.split(' ');

/** A client that begins TLS. */
const HELLO = '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n';

export const wireAttacks: Readonly<Record<string, WireAttacks>> = {
  'ambiguous framing': {
    rule: 'RFC 9112 §5, §6.1, §6.3, §11.2',
    requests: framings.map((headers) => {
      const body = headers.every((header) => header.startsWith('Content-Length')) ? 'hello' : '0\r\n\r\n';
      return lines('POST /api/public HTTP/1.1', HOST, 'X: 1', ...headers) + body + smuggled;
    }),
    statuses: [[400]],
    isClosed: true,
  },
  'a request that is a body': {
    rule: 'RFC 9112 §7.1, §11.2',
    requests: [get('/api/public', `Content-Length: ${smuggled.length}`) + smuggled],
    statuses: [[200]],
    isClosed: false,
  },
  'a request that is a chunk, which is the last of its connection': {
    rule: 'RFC 9112 §7.1, §11.2',
    requests: [get('/api/public', CHUNKED) + chunks(smuggled.length.toString(16), smuggled)],
    statuses: [[200]],
    isClosed: true,
  },
  'a chunk of no clear size, with a token, before a request without one': {
    rule: 'RFC 9112 §7.1',
    requests: ['ZZ', '-1', 'FFFFFFFFFFFFFFFFF', '0x1', ' 1', '1;\n'].map(
      (size) => guarded('Authorization: Bearer TOKEN', CHUNKED) + chunks(size, 'a') + smuggled,
    ),
    statuses: [[200, 400], [400], [200]],
    isClosed: true,
  },
  'a good token that is not in the one Authorization header': {
    rule: 'RFC 9112 §2.2, §5.2, RFC 9110 §5.5, §6.5.1, RFC 6750 §2.3',
    requests: [
      guarded('Authorization: Bearer', ' TOKEN'),
      `${guarded(CHUNKED, 'Trailer: Authorization')}0\r\nAuthorization: Bearer TOKEN\r\n\r\n`,
      guarded('Authorization:', 'Authorization: Bearer TOKEN'),
      guarded('Authorization: Bearer TOKEN', 'Authorization:'),
      guarded('Authorization: Bearer TOKEN', 'authorization: Bearer TOKEN'),
      guarded('Authorization: Bearer', 'Authorization: TOKEN'),
      guarded('Authorization: Bearer TOKEN\0'),
      guarded('Authorization: Bearer TOKEN\rx'),
      ...['Bearer\vTOKEN', 'Bearer\fTOKEN', 'Bearer x\x01TOKEN', `Bearer \x80\xffTOKEN`].map((value) =>
        guarded(`Authorization: ${value}`),
      ),
      guarded('Authorization : Bearer TOKEN'),
      get('/api/private?access_token=TOKEN'),
      'GET /api/private HTTP/1.1\nHost: a\nAuthorization: Bearer TOKEN\n\n',
    ],
    statuses: [[401], [400], [401, 400], [505]],
  },
  'a path near the guarded one, without a token': {
    rule: 'RFC 9112 §3.2',
    requests: paths.map((path) => get(path)),
    statuses: [[401], [400], [404], [505], [200]],
  },
  'the guarded path with an upgrade, without a token': {
    rule: 'RFC 9110 §7.8, RFC 9113 §3.1',
    requests: [
      guarded('Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='),
      guarded('Connection: Upgrade', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'),
    ],
    statuses: [[401]],
  },
  'another protocol': {
    rule: 'RFC 9113 §3.4, RFC 9112 §2.3, §3',
    requests: ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', HELLO, 'GET /api/private\r\n\r\n'],
    statuses: [[400], [505], []],
  },
  'a method that no handler takes, with a good token': {
    rule: 'RFC 9110 §9.1',
    requests: methods.map((name) => guarded('Authorization: Bearer TOKEN', 'Content-Length: 0').replace('GET', name)),
    statuses: [[405], [404], [400], [501], []],
  },
};
/** What distinguishes a request from the others, for the name of its test. */
export const nameOf = (request: string) =>
  request
    .replace(`${HOST}\r\nX: 1\r\n`, '')
    .slice(0, 120)
    .trimEnd()
    .replaceAll(/(?:\r\n)+/g, ', ')
    .replaceAll(/[^ -~]/g, (character) => `<${character.charCodeAt(0)}>`);

/** Host values that make the URL invalid, or give it another path. */
export const hosts: readonly string[] = [
  ...['a', 'ab', 'api', '', ' ', 'a b', 'a@b', 'a/b', 'evil.test/api/public?', 'evil.test/api/public#', 'a\\b', '[::1'],
  ...['[::1]', '%zz', 'a:b', 'a:99999999', '999.999.999.999', '\xff\xfe', 'a\tb', '<x>', '../..', 'localhost:80:80'],
  ...['?', '#', '/', ':', 'xn--a'],
];
