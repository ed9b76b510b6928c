import { type Browser, chromium } from 'playwright-core';

/** Time limit for starting a browser, and for a page on a busy machine. */
export const BROWSER_TIMEOUT_MS = 30_000;

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/** Starts a Chromium that sends no requests of its own. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? names.map((name) => Bun.which(name)).find((path) => path !== null);
  if (!executablePath) throw new Error('No Chromium found: install it, or set CHROMIUM to its path');
  // Each look-up of a name fails, so that no test waits for a resolver.
  const args = ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1', '--disable-quic'];
  return chromium.launch({ executablePath, args });
}
