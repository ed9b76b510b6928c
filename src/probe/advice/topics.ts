// Here rows have the topic by which a stack names its settings.

/** What a stack can be set to do. */
export type Topic =
  | 'signature'
  | 'algorithms'
  | 'issuer'
  | 'audience'
  | 'expiry'
  | 'notBefore'
  | 'requireExpiry'
  | 'type'
  | 'scope'
  | 'keys'
  | 'outage'
  | 'place';

/** A library or a server that checks tokens. */
export interface Stack {
  readonly name: string;
  /** What its responses say of it, in Server or X-Powered-By. */
  readonly says?: RegExp;
  readonly settings: Readonly<Partial<Record<Topic, string>>>;
}

const topics: readonly (readonly [ids: RegExp, topic: Topic])[] = [
  [/^(?:signature|altered|embedded)-/, 'signature'],
  [/^(?:none|alg|hmac)-/, 'algorithms'],
  [/^issuer-/, 'issuer'],
  [/^audience-|^kind-(?:id-token|logout-other)$/, 'audience'],
  [/^expiry-/, 'expiry'],
  [/^notbefore-/, 'notBefore'],
  [/^claims-exp-missing$/, 'requireExpiry'],
  [/^type-/, 'type'],
  [/^(?:scope|challenge-scope)-/, 'scope'],
  [/^(?:key-rotated$|kid-)/, 'keys'],
  [/^fetch-/, 'outage'],
  [/^elsewhere-/, 'place'],
];

/** Returns the topic of a row, if stacks have a setting for it. */
export const topicOf = (id: string): Topic | undefined => topics.find(([ids]) => ids.test(id))?.[1];
