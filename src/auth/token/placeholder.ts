/** What programs write for a value that is not there. All of these could be tokens (RFC 6750 §2.1). */
const words = /^(?:undefined|null|none|nil|nan|true|false)$/i;
/** What a template has before it is filled in, and what an object or a promise is as text. */
const templates = /^(?:\$\{?\w+\}?|\{\{.*\}\}|<[^>]*>|\[object \w+\])$/;

/** Whether a text is what a client sends instead of a token if a variable was not set. */
export const isPlaceholder = (text: string) => words.test(text) || templates.test(text);
