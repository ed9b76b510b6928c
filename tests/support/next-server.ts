import { plugin } from 'bun';

/* Stands in for the function of Next.js that examples/next imports. Next.js itself runs them by night. */
plugin({
  name: 'next/server',
  setup: (build) =>
    void build.module('next/server', () => ({ exports: { connection: async () => {} }, loader: 'object' })),
});
