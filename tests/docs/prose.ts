/** Returns the text of a page without what is not prose: code blocks, comments, tables' rules, and where links lead. */
export const proseOf = (page: string): string =>
  page
    .replaceAll(/^ *(`{3,}).*?^ *\1$/gms, '')
    .replaceAll(/<!--.*?-->|<(details|picture)>.*?<\/\1>|^#+ [^\n]*$|^\|[ |:-]+\|$/gms, '')
    .replaceAll(/(?<=\])\([^)]*\)|<https?:[^>]*>/g, '')
    .replaceAll(/!\[[^\]]*\]/g, '');

/** Returns the sentences of a page: what ends with a full stop, an item of a list, or a cell of a table. */
export function sentencesOf(page: string): readonly string[] {
  const paragraphs = proseOf(page).split(/\n\n+|\n(?= *(?:[-*|]|\d+\.) )|\|/);
  return paragraphs
    .flatMap((paragraph) => paragraph.replaceAll(/\s+/g, ' ').split(/(?<=[.!?][)"]?\*{0,2}) (?=[A-Z`*[(])/))
    .map((sentence) => sentence.replaceAll(/<br>/g, ' ').trim())
    .filter((sentence) => /\w/.test(sentence));
}

/** Returns the number of words of a sentence. What is code counts as one, and a list of links as none. */
export const wordsOf = (sentence: string): number =>
  sentence
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/\[[^\]]*\](?=, \[|$)/g, '')
    .match(/[\p{L}\p{N}][\p{L}\p{N}'’./-]*/gu)?.length ?? 0;
