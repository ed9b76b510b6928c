import { call } from '../requests/anonymous.ts';
import type { Answer, Attempt, Finding, Trial } from '../row/row.ts';
import { finding, isScoped } from '../row/topic.ts';
import { isJsonObject, type Members, parseObject } from '../values/json.ts';

// What outlives a request to an MCP server, in the hands of another user of the same client: events, tasks, state.

const owner: Attempt = { token: {} };
const other: Attempt = { token: { claims: { sub: 'probe-other' } } };
const { headers: accepting = [] } = call('ping');

/** Returns the result in a response: in JSON, or in the events of a stream. */
function resultOf({ outcome, text }: Answer): Members | undefined {
  const events = [...text.matchAll(/^data: ?(.*)$/gm)].map(([, data = '']) => data);
  const results = [text, ...events].map((each) => parseObject(each)?.result);
  return outcome === 'served' ? results.find(isJsonObject) : undefined;
}

/** Judges whether another user got what is its owner's, if the owner can get it. */
function judged(theirs: Answer, own: Answer, shows: (answer: Answer) => boolean): Finding {
  if (shows(theirs)) return { verdict: 'failed', got: theirs.words };
  return shows(own)
    ? { verdict: 'passed', got: theirs.words }
    : { verdict: 'inconclusive', got: `${own.words} for its own user` };
}

/** Sends a request with parameters. The newest revision with sessions is named, in which a stream begins with an ID. */
const message = (method: string, params: Members): Attempt => ({
  ...{ method: 'POST', headers: [...accepting, ['MCP-Protocol-Version', '2025-11-25']] },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
});

async function otherEvents(trial: Trial): Promise<Finding> {
  const begin = call('initialize');
  const body = `${begin.body}`.replace('2025-06-18', '2025-11-25');
  /** Begins a session, and returns its first event and what replays the events after one. */
  async function session(user: Attempt) {
    const { text, headers } = await trial.send({ ...begin, ...user, body });
    const [, event] = /^id: ?(.+)$/m.exec(text) ?? [];
    const id = headers.get('mcp-session-id');
    const replay = (after: string) => {
      const named = [['Accept', 'text/event-stream'] as const, ['Last-Event-ID', after] as const];
      return trial.send({ ...user, method: 'GET', headers: id ? [...named, ['Mcp-Session-Id', id]] : named });
    };
    return { event, replay };
  }
  const [own, theirs] = [await session(owner), await session(other)];
  if (own.event === undefined) return { verdict: 'passed', got: 'no event with an ID' };
  const shows = (answer: Answer) => resultOf(answer) !== undefined;
  return judged(await theirs.replay(own.event), await own.replay(own.event), shows);
}

/** Lets the tool of the target create a task, and asks for it, and for the list of tasks, with another token. */
const ofTask = (another: Attempt) => async (trial: Trial) => {
  const target = parseObject(trial.body ?? '');
  const params = isJsonObject(target?.params) ? target.params : {};
  const created = resultOf(
    await trial.send({ ...message('tools/call', { ...params, task: { ttl: 60_000 } }), ...owner }),
  );
  const { taskId } = isJsonObject(created?.task) ? created.task : (created ?? {});
  if (typeof taskId !== 'string') return { verdict: 'passed', got: 'no task' } as const;
  const shows = (answer: Answer) => JSON.stringify(resultOf(answer) ?? '').includes(JSON.stringify(taskId));
  const [get, list] = [message('tasks/get', { taskId }), message('tasks/list', {})];
  const listed = await trial.send({ ...list, ...other });
  const theirs = shows(listed) ? listed : await trial.send({ ...get, ...another });
  return judged(theirs, await trial.send({ ...get, ...owner }), shows);
};

async function otherState(trial: Trial): Promise<Finding> {
  const target = parseObject(trial.body ?? '');
  const { requestState } = resultOf(await trial.send(owner)) ?? {};
  if (typeof requestState !== 'string') return { verdict: 'passed', got: 'no requestState' };
  const params = { ...(isJsonObject(target?.params) && target.params), requestState, inputResponses: {} };
  const body = JSON.stringify({ ...target, params });
  const [theirs, own] = [await trial.send({ ...other, body }), await trial.send({ ...owner, body })];
  return judged(theirs, own, (answer) => resultOf(answer) !== undefined);
}

const callsTool = ({ body = '' }: Trial) =>
  parseObject(body)?.method === 'tools/call' ? undefined : 'The body of the target calls no tool';
const remedy =
  'Keep what outlives a request under issuer, subject and client. Users share a client, so it is not enough';

export const handleLines = {
  events: {
    sent: 'the ID of an event of another user, in a session of one\u2019s own',
    ...finding('no event of the other user', 4, otherEvents),
    rule: 'MCP, Streamable HTTP, resumability and redelivery',
    remedy,
    ownCode: 'Give each session, or each user, an event store of its own',
  },
  task: {
    sent: 'the ID of a task of another user, and a request for the list of tasks',
    ...finding('no task of the other user', 4, ofTask(other)),
    rule: 'MCP, tasks, access control',
    skip: callsTool,
    remedy,
    ownCode: 'Give each user a task store of its own: the ID of a task is no secret, and lists name it',
  },
  'task-scope': {
    sent: 'the ID of a task with a token of its user that lacks the scope of the tool',
    ...finding('no task', 4, ofTask({ token: { claims: { scope: '' } } })),
    level: 'should' as const,
    rule: 'MCP, tasks, access control',
    skip: (trial: Trial) => callsTool(trial) ?? isScoped(trial),
    remedy: 'Require the scope of a tool for its tasks too, or their result goes to tokens that may not call the tool',
  },
  'request-state': {
    sent: 'the requestState of another user of the same client',
    ...finding('an error', 3, otherState),
    rule: 'MCP, multi round-trip requests, request state',
    skip: callsTool,
    remedy: 'Bind requestState to issuer, subject and client: users share a client',
    ownCode: 'Sign the user with requestState, and compare it when it comes back',
  },
};
