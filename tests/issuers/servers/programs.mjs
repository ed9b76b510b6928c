import { spawn } from 'node:child_process';
import { freePort } from '../../support/child-process.ts';

/*
 * What the scripts of servers in Go share. The environment of a script says where the server keeps its data, DATA, and
 * its port: PORT is 0 on the first start.
 */

export const { DATA: folder = process.cwd(), PORT = '0' } = process.env;
export const port = PORT === '0' ? await freePort() : Number(PORT);

/** Runs a program that ends with this process, however that ends. Its output goes to the errors of this process. */
export const start = (command) =>
  spawn('setpriv', ['--pdeathsig', 'KILL', ...command], { cwd: folder, stdio: ['ignore', 2, 2] });

/** Ends a program, and resolves once it has ended. */
export const end = (child) =>
  new Promise((resolve) => {
    child.once('exit', resolve);
    child.kill('SIGKILL');
  });

/** Resolves once this does not fail. */
export async function untilDone(attempt) {
  for (;;) {
    try {
      return await attempt();
    } catch {
      await Bun.sleep(100);
    }
  }
}

/** Resolves once a URL has a good response. */
export const untilOk = (url) =>
  untilDone(async () => {
    const response = await fetch(url, { keepalive: false });
    if (!response.ok) throw new Error(`${response.status}`);
    return response;
  });

/** Serves functions of the parameters at the paths of their names, and returns their URL. */
export const serveActions = (actions) =>
  Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch({ url }) {
      const { pathname, searchParams } = new URL(url);
      try {
        return Response.json((await actions[pathname.slice(1)](Object.fromEntries(searchParams))) ?? null);
      } catch (error) {
        return new Response(String(error), { status: 500 });
      }
    },
  }).url.origin;
