// The matrix as a program of its own, for other compilers and runtimes. It writes its report as JSON.
import process from 'node:process';
import { sampleCells } from '../auth/elysia/matrix/cells.ts';
import { runCells } from '../auth/elysia/matrix/run.ts';

const { CLIENTS = '', COUNT, SEED } = process.env;
void runCells(JSON.parse(CLIENTS), sampleCells(Number(COUNT), Number(SEED))).then((report) =>
  process.stdout.write(JSON.stringify(report), () => process.exit()),
);
