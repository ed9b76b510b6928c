// Here is which fault explains others: where nothing checks exp, an allowance for clock skew is no advice.

/** Rows by the beginning of their ID, and the rows, in order, whose remedy they have if that row fails, too. */
const causes: readonly (readonly [ids: RegExp, cause: string])[] = [
  [/^(?!error-|challenge-|leak-)/, 'error-status'],
  [/^(?:none|alg|hmac|embedded|altered|encoding|key|method-head-none|credentials-second)-?/, 'signature-stranger'],
  [/^signature-/, 'signature-stranger'],
  [/^(?:embedded-.*alone|embedded-kid|key-other|kid)-?/, 'signature-unknown-kid'],
  [/^notbefore-/, 'notbefore-hour'],
  [/^(?:expiry|given-expired|method-head-expired)-?/, 'expiry-long-past'],
  [/^(?:expiry|given-expired)-?/, 'expiry-past'],
  [/^(?:audience|kind-id-token$|kind-logout-other)-?/, 'audience-other'],
  [/^issuer-/, 'issuer-other'],
  [/^scope-(?!among)/, 'scope-none'],
  [/^type-/, 'type-logout'],
  [/^dpop-/, 'dpop-no-proof'],
  [/^dpop-/, 'dpop-signature'],
  [/^dpop-claim-missing$/, 'dpop-other-method'],
];

interface Advised {
  readonly id: string;
  readonly target: string;
  readonly verdict: string;
  readonly remedy: string;
  readonly ownCode?: string | undefined;
}

/** Gives each row that fails the remedy of the fault that explains it. */
export function withCauses<Row extends Advised>(rows: readonly Row[]): readonly Row[] {
  const isFault = ({ verdict }: Row) => verdict === 'failed' || verdict === 'warning';
  const faults = new Map(rows.filter(isFault).map((row) => [`${row.target} ${row.id}`, row]));
  return rows.map((row) => {
    if (!isFault(row)) return row;
    const found = causes
      .filter(([ids]) => ids.test(row.id))
      .flatMap(([, cause]) => faults.get(`${row.target} ${cause}`) ?? [])[0];
    return found ? { ...row, remedy: found.remedy, ownCode: found.ownCode } : row;
  });
}
