import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';

// Here the API is started for a run, with the settings for the issuer in its environment, and ended after it.

/** How long an API may take to end by itself. */
const endMs = 5_000;
const isWindows = process.platform === 'win32';

/** A running API. */
export interface Started {
  /** Says how it has ended, if it has. */
  readonly ended: () => string | undefined;
  readonly stop: () => Promise<void>;
}

/** Runs a command in a shell. What it prints goes to standard error. */
export function startApi(command: string, settings: Readonly<Record<string, string>>): Started {
  const { CLIENT_SECRET: _, ...environment } = process.env;
  const env = { ...environment, ...settings };
  // A group of its own, so that what the shell starts ends with it.
  const child = spawn(command, { shell: true, detached: !isWindows, env, stdio: ['ignore', 2, 2] });
  let how: string | undefined;
  child.once('exit', (status, signal) => {
    how = signal ? `by ${signal}` : `with exit status ${status}`;
  });
  child.once('error', () => {
    how = 'because it could not be started';
  });
  return {
    ended: () => how,
    async stop() {
      end(child, 'SIGTERM');
      for (let waited = 0; waited < endMs && isAlive(child); waited += 50) await setTimeout(50);
      end(child, 'SIGKILL');
    },
  };
}

/** Whether any process of the group is left. */
function isAlive({ pid, exitCode, signalCode }: ChildProcess): boolean {
  if (pid === undefined) return false;
  if (isWindows) return exitCode === null && signalCode === null;
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
}

function end(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid } = child;
  if (pid === undefined || !isAlive(child)) return;
  try {
    if (isWindows) child.kill(signal);
    else process.kill(-pid, signal);
  } catch {
    // It has ended in this moment.
  }
}
