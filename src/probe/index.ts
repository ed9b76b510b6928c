import type { ProbeOptions } from './options/options.ts';
import type { ProbeReport } from './report/result.ts';
import { runProbe } from './run/probe.ts';

export type { Depth, ProbeOptions, ProbeResponse, ProbeTarget } from './options/options.ts';
export type { ProbedRow, ProbeReport, Verdict } from './report/result.ts';
export type { Level, Needs, Profile } from './row/description.ts';

/**
 * Tries a resource server from outside: with tokens that must be rejected, and some that must not, row by row. It needs
 * nothing of the server but a URL. A report without failures is no proof that every route is guarded: name all of them.
 * @example
 * const issuer = await createTestIssuer();
 * const app = createApplication(issuer.options);
 * const targets = [{ url: 'https://api.invalid/messages', scope: 'read:messages' }];
 * const report = await probe({ issuer, fetch: (request) => app.fetch(request), targets });
 * expect(report.failed).toEqual([]);
 * @throws {TypeError} an option is missing, or names a row or a profile that does not exist
 */
export const probe = (options: ProbeOptions): Promise<ProbeReport> => runProbe(options);
