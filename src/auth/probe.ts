export type { ProbeOptions, ProbeResponse, ProbeTarget } from './probe/options.ts';
export { probe } from './probe/probe.ts';
export type { ProbedRow, ProbeReport, Verdict } from './probe/report.ts';
export type { Level, Needs, Profile } from './probe/row.ts';
