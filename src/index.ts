// Before anything is imported, which takes a while: as process 1, a process without handlers ignores these signals.
const end = () => process.exit();
for (const signal of ['SIGTERM', 'SIGINT'] as const) if (process.listenerCount(signal) === 0) process.on(signal, end);

await import('./main.ts');

export {};
