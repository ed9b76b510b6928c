// Before anything is imported, which takes a while: as process 1, a process without handlers ignores these signals.
const end = () => process.exit();
for (const signal of ['SIGTERM', 'SIGINT'] as const) if (process.listenerCount(signal) === 0) process.on(signal, end);

// Without a handler it ends a process, so a reload right after the start would.
if (process.listenerCount('SIGHUP') === 0) process.on('SIGHUP', () => {});

await import('./main.ts');

export {};
