import { parseArgs } from 'node:util';

const usage = `Usage: bun run test:adversary [--long] [--tokens=N] [--seed=N] [FILE...]

  --long      a million mutated tokens (an hour or more) in place of 20000
  --tokens=N  so many mutated tokens
  --seed=N    repeat a run by the seed that it printed
  FILE        only these files of tests/adversary
`;

const { values, positionals } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    tokens: { type: 'string' },
    seed: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

if (values.help) process.stdout.write(usage);
else process.exit(await run());

/** Runs the adversary suite as a separate test run, one file at a time, because timing and socket tests need an idle machine. */
async function run(): Promise<number> {
  const tokens = values.tokens ?? (values.long ? '1000000' : '20000');
  const seed = values.seed ?? String(Math.floor(Math.random() * 2 ** 31));
  for (const [name, value] of Object.entries({ tokens, seed })) {
    if (!/^\d{1,10}$/.test(value)) {
      process.stderr.write(`Cannot run: --${name} must be a whole number, got ${JSON.stringify(value)}\n`);
      return 1;
    }
  }
  const glob = new Bun.Glob('tests/adversary/*.adversary.ts');
  const files = positionals.length > 0 ? positionals : [...glob.scanSync('.')].sort();
  const child = Bun.spawn(
    [process.execPath, 'test', ...files.map((file) => (file.startsWith('.') ? file : `./${file}`))],
    {
      env: { ...process.env, ADVERSARY_TOKENS: tokens, ADVERSARY_SEED: seed },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  return child.exited;
}
