import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './repository.ts';

/** Returns a new folder, which is removed when the tests end. In `dist`, it finds the packages of the repository. */
export function temporaryFolder(place: 'dist' | 'tmp' = 'tmp'): string {
  const parent = place === 'dist' ? join(root, 'dist') : tmpdir();
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'protected-api-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
