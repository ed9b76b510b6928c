import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { createGuard } from 'protected-api';
import { type McpOptions, protectMcp, requireMcp } from 'protected-api/mcp';
import { startedFor } from '../../support/fixture.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { call, doors, guardFor, issuer, message, resource, senderTo } from './doors.ts';

const metadataPath = '/.well-known/oauth-protected-resource/mcp';
const metadata = `resource_metadata="http://localhost:3010${metadataPath}"`;
const tools = { add: ['write', 'read'], any: { anyOf: ['a', 'b'] }, toString: 'odd' } as const;
const tokens = {
  none: undefined,
  reader: await issuer.token({ sub: 'ada', client_id: 'app', scope: 'read' }),
  writer: await issuer.token({ sub: 'ada', client_id: 'app', scope: 'read write' }),
  any: await issuer.token({ sub: 'ada', client_id: 'app', scope: 'read b other' }),
  plain: await issuer.token({ sub: 'ada', client_id: 'app' }),
  bob: await issuer.token({ sub: 'bob', client_id: 'app', scope: 'read' }),
  expired: await issuer.token({ sub: 'ada' }, { expired: true }),
};

type Sent = Omit<Parameters<ReturnType<typeof senderTo>>[0], 'token'> & { readonly token?: keyof typeof tokens };
type Row = readonly [what: string, sent: Sent, status: number, part?: string];

const list = message('tools/list');
const secret = 's'.repeat(32);
/** A body that is sent in two parts, whose length the server does not know. */
const inParts = (text: string) =>
  new ReadableStream({
    async start(controller) {
      for (const part of [text.slice(0, 50), text.slice(50)]) {
        controller.enqueue(new TextEncoder().encode(part));
        await Bun.sleep(1);
      }
      controller.close();
    },
  });
const shout = { origin: 'https://evil.example' };

/** What every endpoint responds with, which has the options of `protectedOptions`. */
const protectedOptions: McpOptions = { tools, scope: 'read', origins: ['https://app.example.com', 'app://desktop'] };
const protectedRows: readonly Row[] = [
  ['a message', { body: list, token: 'reader' }, 200, '"sub":"ada"'],
  ['a batch', { body: [list, list], token: 'reader' }, 200],
  ['no token', { body: list }, 401, `Bearer ${metadata}`],
  ['an expired token', { body: list, token: 'expired' }, 401, 'Bearer error="invalid_token"'],
  ['Bearer and nothing else', { body: list, headers: { authorization: 'Bearer ' } }, 401, metadata],
  ['two words as a token', { body: list, headers: { authorization: 'Bearer a b' } }, 401, metadata],
  ['a token without the scope', { body: list, token: 'plain' }, 403, 'scope="read"'],
  ['a tool', { body: call('add'), token: 'writer' }, 200],
  ['a tool without its scope', { body: call('add'), token: 'reader' }, 403, 'scope="read write"'],
  ['a tool in a batch without its scope', { body: [list, call('add')], token: 'reader' }, 403],
  ['a tool without its scope, and another granted one', { body: call('add'), token: 'any' }, 403, '"read write b"'],
  ['a tool with one of two scopes', { body: call('any'), token: 'any' }, 200],
  ['a tool without both of two scopes', { body: call('any'), token: 'reader' }, 403, 'scope="read a"'],
  ['a tool that does not exist', { body: call('unknown'), token: 'reader' }, 200],
  ['a tool that is named as a method of every object', { body: call('toString'), token: 'reader' }, 403, '"read odd"'],
  ['such a tool that is not listed', { body: call('valueOf'), token: 'reader' }, 200],
  ['a list as the name of a tool', { body: call(['add']), token: 'reader' }, 400, '"jsonrpc"'],
  ['no name of a tool', { body: message('tools/call'), token: 'reader' }, 400, '"jsonrpc"'],
  ['a list as the method', { body: { ...list, method: ['tools/call'] }, token: 'reader' }, 400, '"jsonrpc"'],
  ['a batch in a batch', { body: [[call('add')]], token: 'reader' }, 400, '"jsonrpc"'],
  ['an empty batch', { body: [], token: 'reader' }, 400],
  ['a batch of 100', { body: Array(100).fill(list), token: 'reader' }, 200],
  ['a batch of more', { body: Array(101).fill(list), token: 'reader' }, 400, 'up to 100 messages'],
  ['a number', { body: 5, token: 'reader' }, 400],
  ['GET', { method: 'GET', token: 'reader' }, 405, 'POST'],
  ['GET without a token', { method: 'GET' }, 401],
  ['DELETE', { method: 'DELETE', token: 'reader' }, 405, 'POST'],
  ['DELETE without a token', { method: 'DELETE' }, 401],
  ['another origin', { body: list, token: 'reader', headers: shout }, 403, 'Origin is not allowed'],
  ['a listed origin', { body: list, token: 'reader', headers: { origin: 'https://app.example.com' } }, 200],
  ['a listed origin of an application', { body: list, token: 'reader', headers: { origin: 'app://desktop' } }, 200],
  ['a part of a listed origin', { body: list, token: 'reader', headers: { origin: 'https://app.example' } }, 403],
  ['a page of this machine', { body: list, token: 'reader', headers: { origin: 'http://127.0.0.1:6274' } }, 200],
  ['a page in a sandbox', { body: list, token: 'reader', headers: { origin: 'null' } }, 403],
  ['another host', { body: list, token: 'reader', headers: { host: 'evil.example' } }, 403, 'Host is not allowed'],
  ['a host that looks alike', { body: list, token: 'reader', headers: { host: 'localhost.evil.example' } }, 403],
  ['a host without a port, as proxies send it', { body: list, token: 'reader', headers: { host: 'localhost' } }, 200],
  ['a host that is an address', { body: list, token: 'reader', headers: { host: '[::1]:3010' } }, 200],
  ['the metadata', { method: 'GET', path: metadataPath }, 200, '"scopes_supported":["read","write","a","b","odd"]'],
  ['the metadata for another origin', { method: 'GET', path: metadataPath, headers: shout }, 200, resource],
  ['the metadata for another host', { method: 'GET', path: metadataPath, headers: { host: 'evil.example' } }, 403],
];

const publicOptions: McpOptions = { tools, publicTools: ['look'] };
const publicRows: readonly Row[] = [
  ['a public tool', { body: call('look') }, 200, '"sub":null'],
  ['a public tool with a token', { body: call('look'), token: 'plain' }, 200, '"sub":"ada"'],
  ['a public tool with an expired token', { body: call('look'), token: 'expired' }, 401],
  ['a public tool beside another', { body: [call('look'), call('add')] }, 401],
  ['another tool', { body: call('add') }, 401, `Bearer ${metadata}`],
  ['a tool that is not listed', { body: call('unknown') }, 401],
  ...['initialize', 'server/discover', 'ping', 'tools/list', 'prompts/list', 'resources/templates/list'].map(
    (method): Row => [method, { body: message(method) }, 200],
  ),
  ['a notification', { body: message('notifications/initialized', undefined, undefined) }, 200],
  ['prompts/get', { body: message('prompts/get', { name: 'look' }) }, 401],
  ['subscriptions/listen', { body: message('subscriptions/listen') }, 401],
  ['a response', { body: { jsonrpc: '2.0', id: 1, result: {} } }, 401],
  // For a 401, clients would log in at once.
  ['GET', { method: 'GET' }, 405, 'POST'],
];

describe.each(doors)('%s', (name, door) => {
  describe.each([
    ['a protected server', protectedOptions, protectedRows],
    ['a server with public tools', publicOptions, publicRows],
  ])('%s', (_, options, rows) => {
    const started = startedFor(
      () => door(options),
      (served) => served[Symbol.asyncDispose]() as Promise<void>,
    );

    test.each(rows)('responds to %s', async (_, { token = 'none', ...sent }, status, part = '') => {
      const response = await senderTo(started())({ ...sent, token: tokens[token] });
      const { headers } = response;
      const text = `${headers.get('www-authenticate')} ${headers.get('allow')} ${await response.text()}`;
      expect([response.status, text]).toEqual([status, expect.stringContaining(part)]);
    });
  });

  test('passes the message to the handler, and can be asked for it again', async () => {
    await using served = await door({});
    const response = await senderTo(served)({ body: call('add'), token: tokens.writer });
    expect(await response.json()).toEqual({
      sub: 'ada',
      scopes: ['read', 'write'],
      resource,
      message: call('add'),
      text: JSON.stringify(call('add')),
    });
  });

  test('reads a body after the token was checked, up to a length', async () => {
    await using served = await door({ maxBodyBytes: 200 });
    const send = senderTo(served);
    const long = { ...list, params: { text: 'a'.repeat(200) } };
    expect((await send({ body: list, token: tokens.reader })).status).toBe(200);
    // What the application has parsed is not read again.
    if (name.endsWith('json()')) return;
    const rejections = [
      await send({ body: '{' }),
      await send({ body: '{', token: tokens.reader }),
      await send({ body: '', token: tokens.reader }),
      await send({ body: long }),
      await send({ body: long, token: tokens.reader }),
      // Without a Content-Length.
      await send({ body: inParts(JSON.stringify(long)), token: tokens.reader }),
    ];
    expect(rejections.map(({ status }) => status)).toEqual([401, 400, 400, 401, 413, 413]);
    for (const response of rejections.filter(({ status }) => status !== 401)) {
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(await response.json()).toEqual({
        jsonrpc: '2.0',
        error: { code: expect.any(Number), message: expect.any(String) },
      });
    }
  });

  test('lets pages of allowed origins send requests, and read the responses', async () => {
    await using served = await door({ ...protectedOptions, sessions: true });
    const send = senderTo(served);
    const origin = 'https://app.example.com';
    const preflight = await send({ method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, POST, DELETE');
    // The wildcard includes what MCP clients send, but not Authorization.
    expect(preflight.headers.get('access-control-allow-headers')).toBe('Content-Type, Authorization, *');
    for (const token of ['none', 'plain', 'reader'] as const) {
      const { headers } = await send({ body: list, token: tokens[token], headers: { origin } });
      expect(headers.get('access-control-allow-origin')).toBe(origin);
      expect(headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
    }
    const { headers } = await send({ method: 'OPTIONS', headers: { origin: 'https://evil.example' } });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  test('hands over the nonce for the next proof', async () => {
    const guard = guardFor({ dpop: 'required', dpopNonceSecret: secret });
    await using served = await door({}, guard);
    const token = await issuer.token({}, { boundTo: 'dpop' });
    const time = (Date.now() - 45_000).toString(36);
    const nonce = `${time}.${createHmac('sha256', secret).update(`dpop-nonce ${time}`).digest('base64url')}`;
    const dpop = await issuer.proof({ method: 'POST', url: resource }, token, { nonce });
    const response = await senderTo(served)({ body: list, headers: { authorization: `DPoP ${token}`, dpop } });
    expect([response.status, response.headers.get('dpop-nonce')]).toEqual([200, expect.stringContaining('.')]);
  });

  test('takes the host of a proxy, and the metadata of another resource for none', async () => {
    await using served = await door({ hosts: ['mcp.internal:8080'] });
    const send = senderTo(served);
    const inside = { host: 'MCP.internal:3000' };
    expect((await send({ body: list, token: tokens.reader, headers: inside })).status).toBe(200);
    expect((await send({ method: 'GET', path: '/.well-known/oauth-protected-resource' })).status).toBe(404);
  });

  test('lets no page or host of this machine in if the resource is elsewhere', async () => {
    await using served = await door(
      {},
      guardFor({ publicUrl: 'https://api.example.com', resource: 'https://api.example.com/mcp' }),
    );
    const send = senderTo(served);
    const statusOf = async (headers: Record<string, string>) =>
      (await send({ body: list, token: tokens.reader, headers })).status;
    const host = 'api.example.com';
    expect(await statusOf({ host })).toBe(200);
    expect([await statusOf({}), await statusOf({ host, origin: 'http://localhost:6274' })]).toEqual([403, 403]);
  });

  test('gives no stream, and ends no session, for a token without the scope of every request', async () => {
    await using served = await door({ scope: 'read', sessions: true });
    const send = senderTo(served);
    for (const method of ['GET', 'DELETE']) {
      const response = await send({ method, token: tokens.plain });
      expect([method, response.status]).toEqual([method, 403]);
      expect(response.headers.get('www-authenticate')).toContain('scope="read"');
    }
  });

  test('gives no stream to a request without a token', async () => {
    await using served = await door({ publicTools: ['look'], sessions: true });
    const send = senderTo(served);
    const responses = [
      await send({ method: 'GET' }),
      await send({ method: 'GET', token: tokens.reader }),
      await send({ method: 'GET', token: tokens.expired }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([405, 200, 401]);
    expect(responses[0]?.headers.get('allow')).toBe('POST');
  });

  test('a session belongs to the user and the client that opened it', async () => {
    await using served = await door({ sessions: true });
    const send = senderTo(served);
    const other = await issuer.token({ sub: 'ada', client_id: 'other', scope: 'read' });
    await send({ body: message('initialize'), token: tokens.reader, headers: { 'x-opens': 'one' } });
    const statusOf = async (token: string, method: string, session = 'one') =>
      (await send({ method, token, headers: { 'mcp-session-id': session }, ...(method === 'POST' && { body: list }) }))
        .status;
    for (const method of ['POST', 'GET', 'DELETE'])
      expect([method, await statusOf(tokens.bob, method), await statusOf(other, method)]).toEqual([method, 404, 404]);
    // Another token of the same user, such as a refreshed one.
    expect(await statusOf(tokens.writer, 'POST')).toBe(200);
    expect(await statusOf(tokens.bob, 'POST', 'unknown')).toBe(200);
    expect(await statusOf(tokens.writer, 'DELETE')).toBe(200);
    expect(await statusOf(tokens.bob, 'POST')).toBe(200);
  });
});

describe.each(doors)('%s', (_, door) => {
  const ofTask = (method: string, taskId: unknown) =>
    method === 'listen'
      ? message('subscriptions/listen', { notifications: { taskIds: ['unknown', taskId] } })
      : message(`tasks/${method}`, { taskId });
  test.each(['json', 'event', 'gzip'])(
    'a task in an answer (%s) belongs to its user, and needs the scope of its tool',
    async (form) => {
      await using served = await door({ tools: { add: 'write' } });
      const send = senderTo(served);
      const create = (token: string) => send({ body: call('add'), token, headers: { 'x-creates': `${form}-1` } });
      expect(await (await create(tokens.writer)).text()).toContain(`"taskId":"${form}-1"`);
      const bobWriter = await issuer.token({ sub: 'bob', client_id: 'app', scope: 'write' });
      for (const method of ['get', 'result', 'cancel', 'update', 'listen']) {
        const statusOf = async (token: string | undefined, taskId: unknown = `${form}-1`) =>
          (await send({ body: ofTask(method, taskId), ...(token !== undefined && { token }) })).status;
        const statuses = [
          await statusOf(tokens.writer),
          // Another token of the same user, which may not call the tool.
          await statusOf(tokens.reader),
          await statusOf(bobWriter),
          await statusOf(undefined),
          await statusOf(tokens.writer, [`${form}-1`]),
          // What the door has not seen goes to the handler.
          await statusOf(tokens.reader, 'unknown'),
        ];
        expect([method, statuses]).toEqual([method, [200, 403, 404, 401, 400, 200]]);
      }
      expect((await send({ body: [list, ofTask('get', `${form}-1`)], token: bobWriter })).status).toBe(404);
      expect((await send({ body: message('tasks/list'), token: bobWriter })).status).toBe(200);
      // An answer to another user does not take a task over.
      await (await send({ body: call('add'), token: bobWriter, headers: { 'x-creates': `${form}-1` } })).text();
      expect((await send({ body: ofTask('get', `${form}-1`), token: tokens.writer })).status).toBe(200);
    },
  );

  test('passes on the ID of an event only with a session that is the user\u2019s', async () => {
    await using served = await door({ sessions: true });
    const send = senderTo(served);
    await send({ body: message('initialize'), token: tokens.reader, headers: { 'x-opens': 'one' } });
    const statusOf = async (token: string, session?: string) => {
      const headers = { 'last-event-id': '1', ...(session !== undefined && { 'mcp-session-id': session }) };
      const statuses = [];
      for (const method of ['GET', 'POST'])
        statuses.push((await send({ method, token, headers, ...(method === 'POST' && { body: list }) })).status);
      return statuses;
    };
    expect(await statusOf(tokens.reader, 'one')).toEqual([200, 200]);
    for (const [token, session] of [
      [tokens.bob, 'one'],
      [tokens.bob, undefined],
      [tokens.bob, 'unknown'],
      [tokens.reader, 'unknown'],
    ] as const)
      expect([session, await statusOf(token, session)]).toEqual([session, [404, 404]]);
  });

  test('asks scopeOf for the scope of each message', async () => {
    const scopeOf = ({ method, params }: { readonly method?: string; readonly params?: unknown }) => {
      if (method === 'resources/read') return { anyOf: ['admin', 'files'] };
      if (method === 'prompts/list') return 'prompts';
      return Object(params).name === 'hidden' ? ['write', 'admin'] : undefined;
    };
    await using served = await door({
      scope: 'read',
      tools: { add: 'write' },
      publicTools: ['look', 'hidden'],
      scopeOf,
    });
    const send = senderTo(served);
    const read = message('resources/read', { uri: 'file:///a' });
    for (const [body, token, status, part] of [
      [list, tokens.reader, 200, ''],
      [read, tokens.reader, 403, 'scope="read admin"'],
      [[list, read], tokens.reader, 403, 'scope="read admin"'],
      [read, await issuer.token({ scope: 'read files' }), 200, ''],
      [call('hidden'), tokens.writer, 403, 'scope="read write admin"'],
      [call('look'), undefined, 200, ''],
      [call('hidden'), undefined, 401, 'Bearer resource_metadata'],
      [message('tools/list'), undefined, 200, ''],
      [message('prompts/list'), undefined, 401, 'Bearer resource_metadata'],
    ] as const) {
      const { status: sent, headers } = await send({ body, token });
      expect([body, sent, `${headers.get('www-authenticate')}`]).toEqual([body, status, expect.stringContaining(part)]);
    }
    const document = await send({ method: 'GET', path: metadataPath });
    expect(await document.json()).toMatchObject({ scopes_supported: ['read', 'write'] });
  });

  test.each<[what: string, scopeOf: () => unknown]>([
    ['a promise', () => Promise.resolve('read')],
    ['a promise that is rejected', () => Promise.reject(new Error('A fault of the application'))],
    [
      'an exception',
      () => {
        throw new Error('A fault of the application');
      },
    ],
    ['an empty list', () => []],
    ['two scopes in one', () => 'read write'],
    ['null', () => null],
    ['false', () => false],
  ])('responds with a 500 to a message for which scopeOf returns %s', async (_, scopeOf) => {
    for (const options of [{}, { publicTools: ['look'] }]) {
      await using served = await door({ ...options, scopeOf: scopeOf as never });
      const sent = { body: call('look'), ...(!('publicTools' in options) && { token: tokens.writer }) };
      expect((await senderTo(served)(sent)).status).toBe(500);
    }
  });

  test('tells the application of every rejection, its own included', async () => {
    const reasons: string[] = [];
    const guard = guardFor({ onRejected: (_, reason) => void reasons.push(reason) });
    await using served = await door({ sessions: true, origins: ['https://app.example.com'] }, guard);
    const send = senderTo(served);
    const token = tokens.reader;
    await send({ body: message('initialize'), token: tokens.bob, headers: { 'x-opens': 'bob' } });
    const sent = [
      await send({ body: list, token, headers: { host: 'evil.example' } }),
      await send({ body: list, token, headers: shout }),
      await send({ method: 'PUT', token, body: list }),
      await send({ body: list, token, headers: { 'mcp-session-id': 'bob' } }),
      await send({ body: [], token }),
      await send({ body: list }),
    ];
    expect(reasons).toEqual([
      'mcp_host',
      'mcp_origin',
      'mcp_method',
      'mcp_session',
      'mcp_message',
      'credentials_missing',
    ]);
    const texts = await Promise.all(sent.map((response) => response.text()));
    expect(texts.slice(0, 3)).toEqual(
      ['in hosts', 'in origins', 'sessions'].map((name) => expect.stringContaining(name)),
    );
  });
});

test('a tool that is inherited has its scope, and a request without a host gets a 403', async () => {
  const inherited: McpOptions = { tools: Object.create({ add: 'write' }) };
  const send = protectMcp(guardFor(), inherited, () => new Response());
  const headers = { authorization: `Bearer ${tokens.reader}` };
  const request = new Request(resource, { method: 'POST', headers, body: JSON.stringify(call('add')) });
  expect((await send(request)).status).toBe(403);
  const ofProxy = new Request(resource, { method: 'POST', headers: { ...headers, host: 'evil.example' } });
  expect(await (await send(ofProxy)).text()).toContain('Host is not allowed');
  // On Bun, the URL of a request with an invalid host is only a path.
  const broken = Object.defineProperty(new Request(resource), 'url', { value: '/mcp' });
  expect((await send(broken)).status).toBe(403);
});

test.each(doors)('%s rejects a request of HTTP/1.0 without a host', async (_, door) => {
  await using served = await door({});
  const { status } = await rawRequest(served.origin, ['POST /mcp HTTP/1.0', `Authorization: Bearer ${tokens.reader}`]);
  expect(status).toBe(403);
});

test('protectMcp() throws for a request whose body the application has read', async () => {
  const request = new Request(resource, { method: 'POST', body: '{}' });
  await request.text();
  await expect(protectMcp(guardFor(), {}, () => new Response())(request)).rejects.toThrow('was already read');
});

describe('protectMcp() and requireMcp() reject', () => {
  const nothing: McpOptions = JSON.parse('{}');
  test.each([
    ['an unknown option', { tool: {} }, 'tool is not an option'],
    ['a misspelt option', { maxBodyByte: 1 }, 'Did you mean maxBodyBytes?'],
    ['an unset option', { scope: undefined }, 'scope must be'],
    ['an unset option behind a getter', Object.defineProperty({}, 'scope', { get: () => undefined }), 'scope must be'],
    ['the scope of a tool that is unset', { tools: { add: undefined } }, 'the tool "add"'],
    ['an empty scope of a tool', { tools: { add: [] } }, 'the tool "add": scope is an empty list'],
    ['two scopes in one', { tools: { add: 'a b' } }, "Write ['a', 'b']"],
    ['a list of tools', { tools: ['add'] }, 'tools must be an object'],
    ['a Map of tools', { tools: new Map([['add', 'write']]) }, 'tools must be an object'],
    ['a scope that is none', { scope: 5 }, 'every request'],
    ['a tool in both', { tools: { add: 'a' }, publicTools: ['add'] }, 'the tool "add" must not be in both'],
    ['an origin with a path', { origins: ['https://app.example.com/'] }, 'origins must be'],
    ['an origin with its default port', { origins: ['https://app.example.com:443'] }, 'origins must be'],
    ['every origin', { origins: ['*'] }, 'origins must be'],
    ['the origin of sandboxes', { origins: ['null'] }, 'origins must be'],
    ...['*', 'admin_*', 'add ', ' add', '\tadd', ''].flatMap((name): [string, object, string][] => [
      [`the tool "${name}"`, { tools: { [name]: 'a' } }, 'Write scope for what all tools require'],
      [`the public tool "${name}"`, { publicTools: [name] }, 'publicTools must be a list of whole names'],
    ]),
    ...['*.example.com', '*', 'mcp.internal ', '', 'a*b:80'].map((host): [string, object, string] => [
      `the host "${host}"`,
      { hosts: [host] },
      'hosts must be a list of whole hosts',
    ]),
    ['a URL as a host', { hosts: ['https://app.example.com'] }, 'hosts must be'],
    ['text as a boolean', { sessions: 'true' }, 'sessions must be true or false'],
    ['a scope as a function', { scopeOf: 'read' }, 'scopeOf must be a function'],
    ['an unset function', { scopeOf: undefined }, 'scopeOf must be a function'],
    ['no length', { maxBodyBytes: 0 }, 'maxBodyBytes must be'],
    ['no options', undefined, 'options must be an object'],
    ['a Map of options', new Map([['tools', {}]]), 'options must be an object'],
  ])('%s', (_, options, problem) => {
    const given = options as typeof nothing;
    expect(() => protectMcp(guardFor(), given, () => new Response())).toThrow(problem);
    expect(() => requireMcp(guardFor(), given)).toThrow(problem);
  });

  test('what is not a guard with publicUrl, or not a function', () => {
    const local = createGuard(issuer.options);
    expect(() => requireMcp(local, {})).toThrow('with publicUrl');
    expect(() => requireMcp(issuer.options as never, {})).toThrow('must be a guard');
    expect(() => protectMcp(guardFor(), {}, undefined as never)).toThrow('must be a function');
  });
});
