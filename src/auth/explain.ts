export { type ExplainOptions, explainToken } from './explain/explain-token.ts';
export type { ExplainedCheck, Explanation } from './explain/render.ts';
export type { Suggestion } from './explain/unchecked/suggestion.ts';
