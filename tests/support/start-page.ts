import { expect } from 'bun:test';
import { join } from 'node:path';
import { type Environment, freePort, type RunningProcess, run, runToEnd, until } from './child-process.ts';
import { statusesIn } from './raw-http.ts';
import { readText } from './repository.ts';

/** The blocks of a start page by the number of their step, and the files that it names. */
async function stepsOf(page: string) {
  const [, ...steps] = (await readText(`docs/${page}.md`)).split(/^## \d\. /m);
  return steps.map((step) => ({
    text: step,
    files: Array.from(
      step.matchAll(/`([\w./]+)`[^`]*\n\n```\w+(?: nightly)?\n(.*?)^```$/gms),
      ([, file = '', text = '']) => ({
        file,
        text,
      }),
    ),
    blocks: Array.from(step.matchAll(/^```\w+(?: \[([^\]]+)\])?\n(.*?)^```$/gms), ([, tab, text = '']) => ({
      tab,
      text,
    })),
  }));
}

/** Starts a server in the first terminal, in the folder in which the page's file is. */
export type Start = (
  command: string,
  port: string,
  environment: Environment,
) => RunningProcess | Promise<RunningProcess>;

const withToken = ' --oauth2-bearer $TOKEN';

/** Expects that a second copy of a server ends, and says why, without having said that it listens. */
async function expectTakenPort({ finished, signal }: RunningProcess): Promise<void> {
  const isEnded = () => Promise.race([finished.then(() => true), Bun.sleep(0).then(() => false)]);
  await until(isEnded, 'the end of a server whose port is taken').finally(() => signal('SIGKILL'));
  const { status, stdout, stderr } = await finished;
  expect(status).not.toBe(0);
  expect(stderr).toMatch(/port \d+ in use|address already in use/i);
  expect(stdout).not.toMatch(/listening on/i);
}

/**
 * Compares the calls of a start page and their responses with those of docs/start/install.md, which have the URL and
 * the body of one page.
 */
async function expectAllThree(calls: readonly string[], stdout: string, body: string): Promise<void> {
  const [, section = ''] = (await readText('docs/start/install.md')).split('### Call your server\n');
  const [script = '', responses = ''] = Array.from(section.matchAll(/^```\w+\n(.*?)^```$/gms), ([, text = '']) => text);
  const [url = ''] = /http:\S+/.exec(calls[0] ?? '') ?? [];
  expect(script.replace(/^export .*\n/, '').replaceAll('$URL', url)).toBe(calls.join(''));
  // Servers write the names of headers in different cases, and need not write the word behind a status (RFC 9112 §4).
  // What stands for more of a line is left out.
  const shown = responses.replace('[]', body).split('\n').filter(Boolean);
  const escaped = shown.map((line) => line.replace(/(?<=^HTTP\S+ \d+) .*| …$/, '').replaceAll(/[^\w\s]/g, '\\$&'));
  expect(stdout).toMatch(new RegExp(escaped.join('[^]*?\\n'), 'i'));
}

/**
 * Follows a start page in a folder in which its packages are installed: writes its files, pastes its commands, and
 * compares the responses with the page, also those without a token and without the scope. Only the ports are others.
 * Returns the packages that the page installs.
 */
export async function follow(
  page: string,
  folder: string,
  path: string,
  start: Start,
  tab?: string,
): Promise<readonly string[]> {
  const [installing, saving, issuing, starting, calling] = await stepsOf(page);
  const [issuerPort, port] = [String(await freePort()), String(await freePort())];
  const onPorts = (text = '') =>
    text.replaceAll('localhost:4010', `localhost:${issuerPort}`).replaceAll(/\b(?:30[01]0|8787)\b/g, port);
  for (const { file, text } of saving?.files ?? []) await Bun.write(join(folder, file), onPorts(text));

  const printed = join(folder, `printed-${page.replace('/', '-')}`);
  const issuer = issuing?.blocks[0]?.text ?? '';
  expect(issuer).toMatch(/^npx protected-api issuer\b[^&]*\n$/);
  const command = onPorts(issuer)
    .replace('npx ', 'exec node_modules/.bin/')
    .replace('issuer', `$& --port ${issuerPort}`);
  const background = run(['bash', '-c', `cd ${folder} && ${command}`], { PATH: path });
  await until(() => background.stdout().includes('audience: '), 'the issuer');
  const starts = onPorts(starting?.blocks.find((block) => tab === undefined || block.tab === tab)?.text);
  const server = await start(starts, port, { PATH: path });
  await until(
    async () => (await fetch(`http://localhost:${port}/`).catch(() => undefined)) !== undefined,
    server.stderr(),
  );

  await expectTakenPort(await start(starts, port, { PATH: path }));

  await Bun.write(printed, background.stdout());
  const call = calling?.blocks[0]?.text ?? '';
  expect(call).toContain(withToken);
  const calls = ['', withToken, withToken.replace('TOKEN', 'PLAIN')].map((token) => call.replace(withToken, token));
  const script = onPorts(calls.join('')).replaceAll('curl -i', 'curl -sSi');
  const { stdout } = await runToEnd(['bash', '-euc', `. ${printed}\n${script}`]);
  for (const child of [server, background]) {
    child.signal('SIGTERM');
    await child.finished;
  }
  expect(statusesIn(stdout)).toEqual([401, 200, 403]);
  const [, body = 'named'] = /a 200 with `([^`]+)`/.exec(calling?.text ?? '') ?? [];
  expect(stdout.split('HTTP/1.1')[2]).toContain(body);
  if (calling?.text.includes('](install.md#try-it)')) await expectAllThree(calls, stdout, body);
  return /^npm install (.*)$/m.exec(installing?.blocks[0]?.text ?? '')?.[1]?.split(' ') ?? [];
}
