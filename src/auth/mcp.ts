export { authInfoOf, type McpAuthInfo } from './mcp/auth-info.ts';
export type { McpMessage } from './mcp/message.ts';
export type { McpOptions } from './mcp/options.ts';
export { type McpContext, protectMcp } from './mcp/protect.ts';
export { requireMcp } from './mcp/require.ts';
