import { canaille } from './canaille.ts';
import { dex } from './dex.ts';
import { javaServers } from './java.ts';
import { javascriptServers } from './javascript.ts';
import { otherServers } from './others.ts';
import { pythonServers } from './python.ts';
import type { RealServer } from './real-server.ts';
import { spire } from './spire.ts';
import { vault } from './vault.ts';

/** Authorization servers of others. Each is set up as its page describes, or the index for those without one. */
export const realServers: readonly RealServer[] = [
  ...javascriptServers,
  ...pythonServers,
  ...javaServers,
  ...otherServers,
  ...[canaille, dex, vault, spire],
];
