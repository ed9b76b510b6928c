export { type ExplainedCheck, type ExplainOptions, type Explanation, explainToken } from './explain/explain-token.ts';
