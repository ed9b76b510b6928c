import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Time limit for starting a browser, and for a page on a busy machine. */
export const BROWSER_TIMEOUT_MS = 30_000;

const CHROMIUM_ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Fails each look-up of a name, so that no test waits for a resolver.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
];

function findChromium(): string {
  const named = process.env.CHROMIUM;
  const found = named ?? ['chromium', 'chromium-browser', 'google-chrome'].map((name) => Bun.which(name)).find(Boolean);
  if (!found || !existsSync(found)) throw new Error('No Chromium found: install it, or set CHROMIUM to its path');
  return found;
}

/** Starts a Chromium that sends no requests of its own. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: CHROMIUM_ARGS });
}
