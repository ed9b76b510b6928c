import { describe, expect, test } from 'bun:test';
import { createDestination, type DestinationOptions } from '../../src/observe/destination.ts';
import { createLog } from '../../src/observe/log.ts';
import { plainFormat, readJsonLines, recordLog } from '../support/recorded-log.ts';

type Done = Parameters<NonNullable<DestinationOptions['write']>>[5];

/** A descriptor that writes when the test says so, and whose pauses the test ends. */
function createDescriptor() {
  let pending: { bytes: Uint8Array; done: Done } | undefined;
  let resume: (() => void) | undefined;
  let text = '';
  const take = () => {
    if (!pending) throw new Error('No write is under way');
    const { bytes, done } = pending;
    pending = undefined;
    return { bytes, done };
  };
  const fail = (code: string) => take().done(Object.assign(new Error(code), { code }), 0);
  return {
    options: {
      write(descriptor, bytes, offset, length, _position, done) {
        expect({ descriptor, isBusy: pending !== undefined }).toEqual({ descriptor: 1, isBusy: false });
        pending = { bytes: bytes.subarray(offset, offset + length), done };
      },
      pause(callback) {
        resume = callback;
      },
    } satisfies DestinationOptions,
    accept(count = Number.POSITIVE_INFINITY) {
      const { bytes, done } = take();
      const written = bytes.subarray(0, count);
      text += new TextDecoder().decode(written);
      done(null, written.length);
    },
    fail,
    resume: () => resume?.(),
    isBusy: () => pending !== undefined,
    text: () => text,
  };
}

type Descriptor = ReturnType<typeof createDescriptor>;

/** Writes all that waits. */
const drain = (descriptor: Descriptor) => {
  while (descriptor.isBusy()) descriptor.accept();
};

describe('createDestination()', () => {
  // What the descriptor does to the lines 1, 2 and 3, of which the first is under way alone.
  const rows: readonly (readonly [
    name: string,
    text: string,
    dropped: number,
    faults: (descriptor: Descriptor) => void,
  ])[] = [
    ['writes lines in order, those that waited at once', '1\n2\n3\n', 0, () => {}],
    ['goes on after a part', '1\n2\n3\n', 0, ({ accept }) => accept(1)],
    [
      'tries again after a pause when the descriptor is full and does not block',
      '1\n2\n3\n',
      0,
      ({ accept, fail, isBusy, resume }) => {
        accept(1);
        fail('EAGAIN');
        expect(isBusy()).toBe(false);
        resume();
      },
    ],
    ['counts the line that failed, and tries the next', '2\n3\n', 1, ({ fail }) => fail('ENOSPC')],
    ['counts every line of a write that failed', '1\n', 2, ({ accept, fail }) => [accept(), fail('EPIPE')]],
    [
      'begins a new line after a torn one, and counts the torn one',
      '1\n2\n3\n',
      1,
      ({ accept, fail }) => [accept(1), fail('ENOSPC')],
    ],
    [
      'counts lines alone when the new line after a torn one fails as well',
      '1',
      3,
      ({ accept, fail }) => [accept(1), fail('ENOSPC'), fail('ENOSPC')],
    ],
  ];
  test.each(rows)('%s', (_name, text, dropped, faults) => {
    const descriptor = createDescriptor();
    const destination = createDestination(descriptor.options);
    for (const line of ['1\n', '2\n', '3\n']) destination.write(line);
    faults(descriptor);
    drain(descriptor);
    expect({ text: descriptor.text(), dropped: destination.droppedLines() }).toEqual({ text, dropped });
  });

  test('buffers no more than its limit while a write is in progress', () => {
    const descriptor = createDescriptor();
    const destination = createDestination({ ...descriptor.options, maxWaiting: 4 });
    for (const line of ['1\n', '2\n', '3\n', '4\n']) destination.write(line);
    descriptor.accept();
    descriptor.accept();
    expect(descriptor.isBusy()).toBe(false);
    expect({ text: descriptor.text(), dropped: destination.droppedLines() }).toEqual({ text: '1\n2\n3\n', dropped: 1 });
  });

  test('calls back once all is written or dropped, at once when nothing waits', () => {
    const descriptor = createDescriptor();
    const destination = createDestination(descriptor.options);
    const seen: string[] = [];
    destination.flush(() => seen.push('empty'));
    destination.write('1\n');
    destination.write('2\n');
    destination.flush(() => seen.push('flushed'));
    descriptor.accept();
    expect(seen).toEqual(['empty']);
    descriptor.fail('EPIPE');
    expect(seen).toEqual(['empty', 'flushed']);
  });
});

describe('createLog()', () => {
  test('says how many lines were lost, once, when lines can be written again', () => {
    const descriptor = createDescriptor();
    const log = createLog('info', plainFormat, createDestination(descriptor.options));
    log.info('lost');
    descriptor.fail('ENOSPC');
    for (const message of ['first', 'second']) {
      log.info(message);
      drain(descriptor);
    }
    expect(readJsonLines(descriptor.text())).toMatchObject([
      { msg: 'first' },
      { level: 'error', lines: 1, msg: 'Log lines were dropped' },
      { msg: 'second' },
    ]);
  });

  test('reports this even if the buffer is full', () => {
    const descriptor = createDescriptor();
    const log = createLog('info', plainFormat, createDestination({ ...descriptor.options, maxWaiting: 100 }));
    for (const message of ['1', '2', '3', '4']) log.info(message);
    drain(descriptor);
    expect(readJsonLines(descriptor.text())).toMatchObject([
      { msg: '1' },
      { msg: '2' },
      { lines: 2, msg: 'Log lines were dropped' },
    ]);
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
});
