/** What a request presents, as it was when the check began. */
export interface Presentation {
  readonly method: string;
  readonly url: string;
  readonly token: string;
  /** Which of the names of the API it is for. */
  readonly name?: number;
  /** The `DPoP` header; null if there is none or DPoP is off. */
  readonly proof: string | null;
}

/** Whether two checks of one object are checks of one request. Anything else in the same object is another request. */
export function isSamePresentation(one: Presentation, other: Presentation): boolean {
  const isSameTarget = one.url === other.url && one.method === other.method && one.name === other.name;
  return isSameTarget && one.token === other.token && one.proof === other.proof;
}
