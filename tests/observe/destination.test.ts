import { describe, expect, test } from 'bun:test';
import { BoundedDestination, type DestinationOptions } from '../../src/observe/destination.ts';
import { createLog } from '../../src/observe/log.ts';
import { plainFormat, readJsonLines, recordLog } from '../support/recorded-log.ts';

/**
 * A descriptor that accepts this many bytes of each write or fails with this error, and accepts everything after the
 * last entry.
 */
function createDescriptor(...outcomes: (number | string)[]) {
  /** Ends the write or the pause that is under way. */
  let end: (() => void) | undefined;
  let text = '';
  const seen = { pauses: 0, text: () => text };
  const options: DestinationOptions = {
    write(bytes, done) {
      expect(end).toBeUndefined();
      end = () => {
        const outcome = outcomes.shift() ?? bytes.length;
        if (typeof outcome === 'string') return done(Object.assign(new Error(outcome), { code: outcome }), 0);
        text += new TextDecoder().decode(bytes.subarray(0, outcome));
        done(null, outcome);
      };
    },
    pause(callback) {
      seen.pauses += 1;
      end = callback;
    },
  };
  const step = () => {
    const ended = end;
    end = undefined;
    ended?.();
    return ended !== undefined;
  };
  return { options, seen, step };
}

describe('BoundedDestination', () => {
  // Line 1 is written alone while 2 and 3 wait; 4 follows when the others have ended.
  test.each([
    ['writes lines in order, those that waited at once', [2, 4], '1\n2\n3\n4\n', 0],
    ['goes on after a part', [1, 1], '1\n2\n3\n4\n', 0],
    ['tries again after a pause when the descriptor is full and does not block', [1, 'EAGAIN'], '1\n2\n3\n4\n', 0],
    ['counts the line that failed, and tries the next', ['ENOSPC'], '2\n3\n4\n', 1],
    ['counts every line of a write that failed', [2, 'EPIPE'], '1\n4\n', 2],
    ['begins a new line after a torn one, and counts the torn one', [1, 'ENOSPC'], '1\n2\n3\n4\n', 1],
    ['counts lines alone when the new line after a torn one fails as well', [1, 'ENOSPC', 'ENOSPC'], '1\n4\n', 3],
  ])('%s', (_name, outcomes, text, dropped) => {
    const { options, seen, step } = createDescriptor(...outcomes);
    const destination = new BoundedDestination(options);
    for (const line of ['1\n', '2\n', '3\n']) destination.write(line);
    while (step());
    destination.write('4\n');
    while (step());
    expect({ text: seen.text(), dropped: destination.droppedLines() }).toEqual({ text, dropped });
    expect(seen.pauses).toBe(outcomes.includes('EAGAIN') ? 1 : 0);
  });

  test('buffers no more than its limit while a write is in progress', () => {
    const { options, seen, step } = createDescriptor(2, 4);
    const destination = new BoundedDestination({ ...options, maxWaiting: 4 });
    for (const line of ['1\n', '2\n', '3\n', '4\n']) destination.write(line);
    expect([step(), step(), step()]).toEqual([true, true, false]);
    expect({ text: seen.text(), dropped: destination.droppedLines() }).toEqual({ text: '1\n2\n3\n', dropped: 1 });
  });

  test('calls back once everything is written or dropped, and at once if nothing waits', () => {
    const { options, step } = createDescriptor(2, 'EPIPE');
    const destination = new BoundedDestination(options);
    const called: string[] = [];
    destination.flush(() => called.push('empty'));
    destination.write('1\n');
    destination.write('2\n');
    destination.flush(() => called.push('flushed'));
    step();
    expect(called).toEqual(['empty']);
    step();
    expect(called).toEqual(['empty', 'flushed']);
  });
});

describe('createLog()', () => {
  test('reports once how many lines were lost, when lines can be written again', () => {
    const { options, seen, step } = createDescriptor('ENOSPC');
    const log = createLog('info', plainFormat, new BoundedDestination(options));
    for (const message of ['lost', 'first', 'second']) {
      log.info(message);
      while (step());
    }
    const lost = { level: 'error', lines: 1, msg: 'Log lines were dropped' };
    expect(readJsonLines(seen.text())).toMatchObject([{ msg: 'first' }, lost, { msg: 'second' }]);
  });

  test('reports lost lines even if the buffer is full', () => {
    const { options, seen, step } = createDescriptor();
    const log = createLog('info', plainFormat, new BoundedDestination({ ...options, maxWaiting: 140 }));
    for (const message of ['1', '2', '3', '4']) log.info(message);
    while (step());
    const lost = { lines: 2, msg: 'Log lines were dropped' };
    expect(readJsonLines(seen.text())).toMatchObject([{ msg: '1' }, { msg: '2' }, lost]);
  });

  test('describes an error by its type, message, stack and causes only', () => {
    const { log, lines } = recordLog('info');
    const cause = Object.assign(new TypeError('inner'), { claims: { sub: 'secret' } });
    log.error({ err: Object.assign(new Error('outer', { cause }), { payload: 'secret', code: 'E' }) }, 'Failed');
    log.error({ err: { claims: 'secret' } }, 'Failed');
    const stack = expect.any(String);
    expect(readJsonLines(lines.join('')).map(({ err }) => err)).toEqual([
      { type: 'Error', message: 'outer', stack, cause: { type: 'TypeError', message: 'inner', stack } },
      { type: 'object' },
    ]);
  });

  test('describes an error that is its own cause', () => {
    const { log, lines } = recordLog('info');
    const error = new Error('inner');
    error.cause = new Error('outer', { cause: error });
    log.error({ err: error }, 'Failed');
    expect(lines.join('').match(/"message":"inner"/g)).toBeArrayOfSize(5);
  });
});
