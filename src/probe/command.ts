#!/usr/bin/env node
import { runCommand } from './command/run.ts';

await runCommand(process.argv.slice(2));
