import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { slogan } from '../../docs/.vitepress/pages.ts';
import { explainToken } from '../../src/auth/explain.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { developmentFixtureFor } from '../support/development-issuer.ts';
import { browserForTests } from '../support/documentation-page.ts';
import { sourceForm } from '../support/forms.ts';
import { readText, root } from '../support/repository.ts';

const picture = (name: string) => Bun.file(join(root, 'docs/public', name));
/**
 * `bun run pictures` writes the pictures that pages show. Everything else only looks whether they are as they should
 * be.
 */
const isWriting = process.env.WRITE_PICTURES === 'true';

/** Writes a screenshot. Its bytes depend on the fonts of the machine, so only its size is checked. */
async function expectScreenshot(name: string, shoot: () => Promise<Buffer>): Promise<void> {
  const taken = await shoot();
  if (isWriting) await Bun.write(picture(name), taken);
  expect(picture(name).size).toBeWithin(5_000, 100_000);
}

describe('the pictures', () => {
  const fixture = developmentFixtureFor(sourceForm);
  const open = browserForTests();

  test.each(['light', 'dark'] as const)('show a 403 on the page of the service: %s', async (colorScheme) => {
    const documentation = await open({ colorScheme, viewport: { width: 920, height: 1200 }, deviceScaleFactor: 1.3 });
    await documentation.open(new URL(fixture().issuer).origin);
    await documentation.authorizeAs(/visitor/);
    expect(await documentation.send('/api/private-scoped')).toStartWith('403');
    await documentation.useTokenIn('/api/private-scoped').getByText('with read:messages').waitFor();
    // The responses name the service's URL, whose port is a free one.
    await documentation.page.evaluate(`{
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(location.host, 'localhost:3010');
    }`);
    const article = documentation.article('/api/private-scoped');
    await expectScreenshot(`openapi-${colorScheme}.png`, () => article.screenshot());
  });

  test('show the package where a link to the site is shared', async () => {
    const { page } = await open({ viewport: { width: 1200, height: 630 } });
    await page.setContent(`<body style="margin: 0; padding: 90px; font: 44px system-ui; color: #1b1f2b; background: #f5f6fa">
      <h1 style="font-size: 92px; margin: 0 0 30px">protected-api</h1>
      <p style="margin: 0 0 60px">${slogan}</p>
      <code style="font-size: 34px; line-height: 1.6">requireToken(guard, { scope: 'read:messages' })<br>
      <b style="color: #18794e">200</b> · <b style="color: #b8272c">401 · 403</b> · <b style="color: #915930">503</b></code>`);
    await expectScreenshot('card.png', () => page.screenshot());
  });

  test('show what explain prints in a terminal, as it does now', async () => {
    // The issuer makes a new key each time, and names it after its thumbprint.
    const printed = (await explained()).replaceAll(
      /(?<![\w-])[\w-]{43}(?![\w-])/g,
      'dVzF2m8K8kJ62k7fy4zuhHGhnItAdlWDytQOvPq5gZA',
    );
    const drawn = drawTerminal(commandOf(await readText('docs/explain.md')) + printed);
    if (isWriting) await Bun.write(picture('explain.svg'), drawn);
    expect(await picture('explain.svg').text()).toBe(drawn);
  });
});

/** Explains a token for another audience. */
async function explained(): Promise<string> {
  const issuer = await createTestIssuer();
  const iss = 'https://tenant.example.com/';
  const token = await issuer.token({ iss, aud: 'https://api.example.com/v2', scope: 'read:messages' });
  const options = { ...issuer.options, issuer: iss, audience: 'https://api.example.com' };
  return (await explainToken(token, options, { words: 'settings', requirements: { scope: 'read:messages' } })).render(
    true,
  );
}

/** The command on the page, as typed at a prompt. */
const commandOf = (page: string) => `$ ${/```sh\n(ISSUER=.*?)```/s.exec(page)?.[1]?.replace(/\n(?=.)/g, '\n  ') ?? ''}`;

const colours: Readonly<Record<string, string>> = { 31: '#ff938a', 32: '#7ee787', 2: '#9aa4b2' };

/** Draws text with the colours of a terminal of 90 columns. */
function drawTerminal(text: string): string {
  const lines = text.trimEnd().split('\n').flatMap(wrapped);
  const rows = lines.map((line, index) => {
    const spans = line
      .replace(/[&<]/g, (character) => `&#${character.charCodeAt(0)};`)
      .replace(
        // biome-ignore lint/suspicious/noControlCharactersInRegex: escapes of a terminal
        /\u001b\[(\d+)m(.*?)\u001b\[0m/g,
        (_, code, part) => `<tspan fill="${colours[code]}">${part}</tspan>`,
      );
    return `<text x="20" y="${36 + index * 20}">${spans}</text>`;
  });
  const height = lines.length * 20 + 36;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 ${height}" width="800" height="${height}" role="img"
  aria-label="The command explain in a terminal" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">
<rect width="800" height="${height}" rx="10" fill="#15171c"/>
<style>text { white-space: pre }</style>
<g fill="#e6e8ec">
${rows.join('\n')}
</g>
</svg>
`;
}

/** Wraps a line of one colour that is longer than the terminal is wide. */
function wrapped(line: string): readonly string[] {
  if (Bun.stripANSI(line).length <= 90) return [line];
  const [, start = '', text = '', end = ''] = /^(\S*?m)(.*)(\S{4})$/.exec(line) ?? [];
  return (text.match(/.{1,90}(?: |$)/g) ?? []).map((part) => start + part.trim() + end);
}
