import { connect } from 'node:net';

/** The part of a response that tests of headers need. */
export interface RawAnswer {
  /** 0 if the connection was closed without a response. */
  readonly status: number;
  readonly response: Response | undefined;
}

const HEAD_END = '\r\n\r\n';

function parse(bytes: Buffer): RawAnswer {
  const text = bytes.toString('latin1');
  const headEnd = text.indexOf(HEAD_END);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
  if (headEnd < 0 || status < 200) return { status, response: undefined };
  const headers = new Headers();
  for (const line of text.slice(0, headEnd).split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return { status, response: new Response(bytes.subarray(headEnd + HEAD_END.length), { status, headers }) };
}

/**
 * Sends GET with the header lines as they are, byte for byte (strings as Latin-1), over a connection of its own: fetch() would refuse,
 * join or re-encode them.
 */
export function rawGet(origin: string, path: string, headerLines: readonly string[]): Promise<RawAnswer> {
  return rawRequest(origin, [
    `GET ${path} HTTP/1.1`,
    `Host: ${new URL(origin).host}`,
    'Connection: close',
    ...headerLines,
  ]);
}

/** Sends the lines of a request, and returns the response once the service has closed the connection. */
export function rawRequest(origin: string, lines: readonly string[]): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  return new Promise((done) => {
    const received: Uint8Array[] = [];
    const socket = connect(Number(port), hostname, () =>
      socket.write(Buffer.from(`${lines.join('\r\n')}${HEAD_END}`, 'latin1')),
    );
    socket.on('data', (chunk) => received.push(Buffer.from(chunk)));
    // A server may reset the connection of a request it will not read to its end; what it answered before that counts.
    socket.on('error', () => {});
    socket.on('close', () => done(parse(Buffer.concat(received))));
  });
}
