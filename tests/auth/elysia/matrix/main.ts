// The matrix as a program of its own, for other compilers and runtimes. It writes its report as JSON.
import process from 'node:process';
import { sampleCells } from './cells.ts';
import { runCells } from './run.ts';

const { CLIENTS = '', COUNT, SEED } = process.env;
void runCells(JSON.parse(CLIENTS), sampleCells(Number(COUNT), Number(SEED))).then((report) =>
  process.stdout.write(JSON.stringify(report), () => process.exit()),
);
