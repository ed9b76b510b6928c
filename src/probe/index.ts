export type { Level, Needs, Profile } from './row/row.ts';
export type { Depth, ProbeOptions, ProbeResponse, ProbeTarget } from './run/options.ts';
export { probe } from './run/probe.ts';
export type { ProbedRow, ProbeReport, Verdict } from './run/result.ts';
