import { parameterOf } from '../http/challenges.ts';
import { metadataUrls } from '../http/resource-metadata.ts';
import type { Answer, Trial } from '../row/row.ts';
import { finding, requests } from '../row/topic.ts';
import { parseObject } from '../values/json.ts';
import { printable } from '../values/text.ts';
import { challenge, isSilent, judged } from './mcp.ts';

// Where MCP clients look for the metadata, and which resource they let them name.

const isMetadata = ({ status, text }: Answer) => status === 200 && typeof parseObject(text)?.resource === 'string';
/** A client tries the next URL after a rejection, but not after an error or another document. */
const form = (which: 0 | 1) =>
  finding('200 with the metadata as JSON, or 4xx', 1, async ({ url, read }) => {
    const answer = await read(metadataUrls(url).at(which) ?? metadataUrls(url)[0] ?? url);
    return judged(answer, isMetadata(answer) || answer.outcome === 'rejected', 'content-type');
  });
/** Decides about the `resource` of the metadata. */
const resource = (expected: string, isRight: (resource: string, trial: Trial) => boolean) =>
  finding(expected, 0, async (trial) => {
    const { resource: named } = trial.metadata ?? {};
    const isText = typeof named === 'string' && URL.canParse(named);
    const got = named === undefined ? 'no metadata' : printable(JSON.stringify(named), 300);
    return { verdict: isText && isRight(named, trial) ? 'passed' : 'failed', got };
  });
const folder = (path: string) => path.replace(/\/?$/, '/');
const isAbove = (named: string, { url }: Trial) => {
  const [above, below] = [new URL(named), new URL(url)];
  const isLonger = above.pathname.length > below.pathname.length;
  return above.origin === below.origin && !isLonger && folder(below.pathname).startsWith(folder(above.pathname));
};
/** VS Code compares with the query. At the root it expects the origin, unless a challenge leads there. */
const isSame = (named: string, { url, metadataUrl, bare }: Trial) => {
  const { origin, href } = new URL(url);
  const isRoot = metadataUrl === metadataUrls(url).at(-1);
  const isTold = parameterOf(bare.headers.get(challenge), 'resource_metadata') === metadataUrl;
  return (!isRoot || isTold ? [href] : []).concat(isRoot ? new URL(origin).href : []).includes(new URL(named).href);
};
const isSamePath = (named: string, { url }: Trial) => {
  const [one, other] = [new URL(named), new URL(url)];
  return one.origin === other.origin && one.pathname === other.pathname;
};

export const mcpMetadataRows = requests(
  'mcp',
  { rule: 'RFC 9728 §3.3', needs: 'nothing', onlyIn: 'mcp', remedy: '' },
  {
    'metadata-found': {
      sent: 'requests for the metadata at the path and the root form',
      ...finding('the metadata at one of the two URLs', 2, async ({ url, read }) => {
        const answers: Answer[] = [];
        for (const each of metadataUrls(url)) answers.push(await read(each));
        const silent = answers.find(isSilent);
        if (silent) return { verdict: 'inconclusive', got: silent.words };
        const got = answers.map(({ status }) => status).join(' and ');
        return { verdict: answers.some(isMetadata) ? 'passed' : 'failed', got };
      }),
      rule: 'MCP, authorization server discovery; RFC 9728 §3.1',
      remedy:
        'Serve the metadata without a token. Clients that read no challenge, such as browsers, find no login without it',
    },
    'metadata-path': {
      sent: 'a request for the metadata at the path form',
      ...form(0),
      rule: 'RFC 9728 §3.1, §3.2',
      remedy:
        'Return 404 where there is nothing: clients of both TypeScript SDKs stop at a page, and at most errors of the server',
    },
    'metadata-root': {
      sent: 'a request for the metadata at the root form',
      ...form(1),
      rule: 'RFC 9728 §3.1, §3.2',
      remedy:
        'Return 404 where there is nothing: clients of both TypeScript SDKs stop at a page, and at most errors of the server',
    },
    'resource-sdk': {
      sent: 'a request for the metadata',
      ...resource('a resource of the same origin, at the URL or above it', isAbove),
      remedy: 'Name the URL that clients are given: clients of the TypeScript and Python SDK reject another one',
    },
    'resource-vscode': {
      sent: 'a request for the metadata',
      ...resource('the URL as resource, or its origin if the metadata is at the root', isSame),
      level: 'should',
      remedy:
        'Name the URL of the endpoint as resource: for another one, VS Code logs in at the origin of the server instead',
    },
    'resource-gemini': {
      sent: 'a request for the metadata',
      ...resource('the URL as resource, whatever its query is', isSamePath),
      level: 'should',
      remedy:
        'Name the URL of the endpoint as resource: gemini-cli rejects one with another path or a slash at its end',
    },
  },
);
