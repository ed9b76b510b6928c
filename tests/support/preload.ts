import { afterAll } from 'bun:test';

// `bun test` ends without the event exit, on which fixtures end what a test that failed halfway has left behind.
afterAll(() => void process.emit('exit', 0));
