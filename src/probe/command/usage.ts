import { limits } from '../run/choice.ts';

// Here is what --help prints.

export const usage = `Usage: protected-api-probe <url>... [flag]...

Tests an API from outside, with requests that it must reject and some that it
must accept. Each URL must require a token. What is tried depends on what you
give: only the URL, also a good token on standard input, or a port for an
issuer.

  --scope <scope>        a scope that the URLs require; repeat it for several
  --method <method>      method of the requests; defaults to GET
  --body <text>          body of the requests, a form or JSON
  --openapi <url>        tries each operation of the document that has security

  --serve-issuer <port>  starts an issuer on this port; the API must accept its
                         tokens within 30 seconds
  --start <command>      starts the API by a shell for the run, with ISSUER,
                         AUDIENCE, JWKS_URI and PUBLIC_KEY_FILE in its
                         environment; it has two minutes
  --tls                  the issuer takes https only; CA_FILE names the file of
                         its authority
  --audience <text>      the API's identifier for that issuer; defaults to the
                         resource of its metadata, or to the origin of the
                         first URL
  --claims <file>        further claims of that issuer's tokens, as JSON
  --patient              waits until the API fetches keys again, and until its
                         keys are too old; up to an hour
  --client-id <id>       gets a token with the client's secret in CLIENT_SECRET
  --issuer <url>         the only issuer that gets this secret
  --token <kind>=<file>  a token that the API must reject, and why: expired,
                         audience, scope or id

  --depth <name>         quick, standard or full: at most ${limits.quick} requests to each
                         target; ${limits.standard} or ${limits.full} in all to other machines
  --profile <name>       the standard that decides what is a must: rfc6750,
                         rfc9068, mcp or fapi2
  --stack <name>         the library or server that checks tokens, such as
                         jsonwebtoken (npm), jsonwebtoken-rust or pyjwt:
                         the report names its settings
  --only, --skip <id>    rows to run or to skip, by ID or the beginning of IDs;
                         repeat it for several
  --known <file>         rows that are known to fail, one per line: ID, reason
  --write-known <file>   writes that list from this run, and exits with 0,
                         or with 3 if the run is incomplete
  --header <line>        a header of each request, such as 'X-Key: value'
  --intrusive            sends floods and headers over 8 KiB to other machines
  --dry-run              lists what would be sent

  --json                 prints the report as JSON
  --junit <file>         writes the report for CI systems
  --sarif <file>         writes the faults for code hosts
  --fail-on should       exits with 1 if a should failed

Exits with 0 if all is well, 1 if a must failed, 2 for a wrong flag, 3 if the
run is incomplete. Ctrl+C ends the run with the report so far. Other machines
get at most 10 requests a second, and no more than --depth allows.
`;
