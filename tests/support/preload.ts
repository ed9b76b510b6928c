import { afterAll } from 'bun:test';

// `bun test` exits without the event exit, on which fixtures stop what a failed test left running.
afterAll(() => void process.emit('exit', 0));
