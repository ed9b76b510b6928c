import { expect } from 'bun:test';
import { run, until, untilProcess } from '../support/child-process.ts';

/** Starts Prometheus with this configuration. `query` returns the result of an expression. */
export async function startPrometheus(configuration: object) {
  const prometheus = run(
    ['prometheus', '--config.file=prometheus.json', '--web.listen-address=127.0.0.1:0', '--storage.tsdb.path=data'],
    {},
    { 'prometheus.json': JSON.stringify(configuration) },
  );
  const address = () => /msg="Listening on" address=(\S+)/.exec(prometheus.stderr())?.[1];
  await untilProcess(prometheus, () => address() !== undefined, 'a Prometheus that listens');
  const origin = `http://${address()}`;
  await until(async () => (await fetch(`${origin}/-/ready`)).ok, 'a Prometheus that is ready');
  const query = async (expression: string) => {
    const response = await fetch(`${origin}/api/v1/query?query=${encodeURIComponent(expression)}`);
    const { data, error } = (await response.json()) as {
      data: { result: readonly { metric: Readonly<Record<string, string>> }[] };
      error?: string;
    };
    expect(error, expression).toBeUndefined();
    return data.result;
  };
  const close = () => {
    prometheus.signal('SIGKILL');
    return prometheus.finished;
  };
  return { query, close };
}
