export const mutantsLeft: readonly { file: string; original: string; what: readonly string[]; reason: string }[] = [];
