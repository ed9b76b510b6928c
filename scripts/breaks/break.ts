/** A fault by its name: the file, the text that it replaces, and what it puts there. */
export type Break = readonly [name: string, file: string, from: string, to: string];

/** Faults by the test file that notices each. */
export type Breaks = Readonly<Record<string, readonly Break[]>>;
