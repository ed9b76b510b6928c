import { createGuard, type Guard, optionsFromEnvironment } from 'protected-api';

let guard: Guard | undefined;

/** Returns the guard, created on the first request: `next build` evaluates the application without its settings. */
export function getGuard(): Guard {
  guard ??= createGuard(optionsFromEnvironment(process.env));
  return guard;
}
