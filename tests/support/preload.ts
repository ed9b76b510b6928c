import { afterAll } from 'bun:test';
import { useSpareKeys } from './spare-keys.ts';

useSpareKeys('tests');

// `bun test` exits without the event `exit`, at which fixtures stop everything that a failed test left running.
afterAll(() => void process.emit('exit', 0));
