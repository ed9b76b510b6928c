import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createSender } from '../http/sender.ts';
import type { Depth, ProbeOptions } from '../options/options.ts';
import { parseObject } from '../values/json.ts';

// Here flags become the options of a run.

const textFlag = { type: 'string' } as const;
const listFlag = { ...textFlag, multiple: true, default: [] as string[] } as const;
const flag = { type: 'boolean', default: false } as const;
const flagOptions = {
  ...{ scope: listFlag, token: listFlag, only: listFlag, skip: listFlag, header: listFlag },
  ...{
    body: textFlag,
    openapi: textFlag,
    audience: textFlag,
    claims: textFlag,
    'serve-issuer': textFlag,
    start: textFlag,
    'client-id': textFlag,
    issuer: textFlag,
  },
  ...{ depth: textFlag, profile: textFlag, stack: textFlag, known: textFlag, 'write-known': textFlag },
  ...{ junit: textFlag, sarif: textFlag, 'fail-on': textFlag, patient: flag, tls: flag },
  ...{ intrusive: flag, 'dry-run': flag, json: flag, help: { ...flag, short: 'h' } },
  method: { ...textFlag, default: 'GET' },
} as const;

/** Reads the arguments. */
export function readFlags(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flagOptions, allowPositionals: true });
  } catch (error) {
    // The message of parseArgs may echo an argument, which may be a token; the name of a flag is none.
    const [, name] = /'[^']*?(--[a-z-]{1,20})\b[^']*'/.exec(String(error)) ?? [];
    throw new TypeError(
      `Cannot read flags: ${name ? `${name} is no flag, or its value is missing; ` : ''}see protected-api-probe --help`,
    );
  }
}
export type Flags = ReturnType<typeof readFlags>;

/** Flags that do nothing without each other, or that exclude each other. */
function check(values: Flags['values']): void {
  const { issuer, 'client-id': client, 'fail-on': failOn, tls, 'serve-issuer': port } = values;
  const isServed = port !== undefined || values.start !== undefined;
  const cannot = (why: string) => new TypeError(`Cannot read flags: ${why}`);
  if (port !== undefined && !(/^\d+$/.test(port) && Number(port) <= 65_535))
    throw cannot('--serve-issuer must be a port');
  if (failOn !== undefined && failOn !== 'should') throw cannot('--fail-on must be should');
  if (issuer !== undefined && client === undefined)
    throw cannot('--issuer is where --client-id gets a token: name both');
  if (isServed && client !== undefined) throw cannot('use either --serve-issuer or --client-id');
  if (tls && !isServed) throw cannot('--tls is for the issuer of --serve-issuer or --start');
}

export async function optionsOfFlags({ values, positionals }: Flags): Promise<ProbeOptions> {
  check(values);
  const targets = positionals.map((url) => {
    if (!httpUrl.test(url)) throw new TypeError('Cannot read flags: a target must be an http or https URL');
    return { url, method: values.method, scope: values.scope, body: values.body };
  });
  const headers = Object.fromEntries(values.header.map(readHeader));
  return {
    ...{ targets, headers, skip: values.skip, only: values.only.length > 0 ? values.only : undefined },
    ...(values.openapi !== undefined && (await readDocument(values.openapi, values.method, headers))),
    depth: values.depth as Depth | undefined,
    profile: values.profile as ProbeOptions['profile'],
    known: values.known === undefined ? undefined : readKnown(values.known),
    claims: values.claims === undefined ? undefined : readClaims(values.claims),
    intrusive: values.intrusive || undefined,
    patient: values.patient || undefined,
    stack: values.stack,
    tokens: Object.fromEntries(values.token.map(readTokenFile)),
  };
}

const httpUrl = /^https?:\/\//;
const maxDocumentLength = 20_000_000;

async function readDocument(url: string, method: string, headers: ProbeOptions['headers']) {
  if (!httpUrl.test(url)) throw new TypeError('Cannot read flags: --openapi must be an http or https URL');
  const sender = createSender({ headers, maxLength: maxDocumentLength });
  const { status, text, words } = await sender.send({ id: 'openapi', method: 'GET', url, headers: [] });
  if (status !== 200) throw new TypeError(`Cannot read the OpenAPI document: ${words}`);
  const openapi = parseObject(text);
  if (!openapi) throw new TypeError('Cannot read the OpenAPI document: it is not JSON, or longer than 20 MB');
  return { openapi, baseUrl: url, methods: [method] };
}

function readFile(name: string): string {
  try {
    return readFileSync(name, 'utf8');
  } catch {
    throw new TypeError('Cannot read a file that --known, --claims or --token names');
  }
}

/** Each line is an ID and a reason; a line that begins with # is a comment. */
const readKnown = (file: string) =>
  Object.fromEntries(
    readFile(file)
      .split('\n')
      .filter((line) => /^[^#\s]/.test(line))
      .map((line) => {
        const [, id = '', reason = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
        if (reason === '') throw new TypeError('Cannot read known deviations: each line must be an ID and a reason');
        return [id, reason];
      }),
  );

function readClaims(file: string) {
  const claims = parseObject(readFile(file));
  if (claims === undefined) throw new TypeError('Cannot read claims: the file must be an object of JSON');
  return claims;
}

function readHeader(line: string): [string, string] {
  const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined)
    throw new TypeError("Cannot read flags: --header must be 'Name: value'");
  return [name, value];
}

function readTokenFile(given: string): [string, string] {
  const [, kind, file] = /^(expired|audience|scope|id)=(.+)$/.exec(given) ?? [];
  if (kind === undefined || file === undefined)
    throw new TypeError('Cannot read flags: --token must be expired, audience, scope or id, an equals sign and a file');
  return [kind, readFile(file).trim()];
}
