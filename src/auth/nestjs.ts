export { Auth } from './nestjs/call.ts';
export { Public, RequireToken } from './nestjs/marks.ts';
export { tokenGuard } from './nestjs/token-guard.ts';
export type { Anonymous, Authentication, AuthOf, Claims } from './types.ts';
