/** The members of a JSON object, of any type. */
export type Members = Readonly<Record<string, unknown>>;

/** Whether a value is an object in the sense of JSON: neither null nor a list. */
export function isJsonObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the JSON object that a text is, or undefined for anything else. */
export function parseObject(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
