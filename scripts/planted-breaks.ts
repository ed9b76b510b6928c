import type { Breaks } from './breaks/break.ts';
import { guardBreaks } from './breaks/guard.ts';
import { probeBreaks } from './breaks/probe.ts';
import { serviceBreaks } from './breaks/service.ts';

/** Faults by the test file that notices each. */
export const breaks: Breaks = { ...guardBreaks, ...probeBreaks, ...serviceBreaks };
