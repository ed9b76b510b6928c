import type { Breaks } from './breaks/break.ts';
import { doorBreaks } from './breaks/doors.ts';
import { guardBreaks } from './breaks/guard.ts';
import { probeBreaks } from './breaks/probe.ts';
import { serviceBreaks } from './breaks/service.ts';

/** Faults by the test file that notices each. */
export const breaks: Breaks = { ...guardBreaks, ...doorBreaks, ...probeBreaks, ...serviceBreaks };
