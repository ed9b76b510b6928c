import { type Cell, type Clients, judge, type Outcome, sampleCells } from './cells.ts';

export interface Report {
  readonly seed: number;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  readonly faulty: readonly { readonly faults: readonly string[]; readonly cell: Cell }[];
}

/** Judges so many cells of a sample. What Elysia writes to the console is not shown. */
export async function runCells(
  clients: Clients,
  count: number,
  seed: number,
  fixed: Partial<Cell> = {},
): Promise<Report> {
  const { error, log, warn } = console;
  Object.assign(console, { error() {}, log() {}, warn() {} });
  const outcomes = { served: 0, closed: 0, impossible: 0 };
  const faulty: { faults: readonly string[]; cell: Cell }[] = [];
  for (const cell of sampleCells(count, seed, fixed)) {
    const { outcome, faults } = await judge(cell, clients);
    outcomes[outcome] += 1;
    if (faults.length > 0) faulty.push({ faults, cell });
  }
  Object.assign(console, { error, log, warn });
  return { seed, outcomes, faulty };
}
