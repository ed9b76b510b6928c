/** What Shiki passes to transformers: an element or a text. */
interface Node {
  readonly type: string;
  readonly value?: string;
  readonly tagName?: string;
  properties?: Record<string, unknown>;
  children?: Node[];
}

/** As many characters fit on a line of a phone, whatever its indent. */
const fitting = 32;

const textOf = ({ value = '', children = [] }: Node): string => value + children.map(textOf).join('');
const element = (tagName: string, children: Node[], properties = {}): Node => ({
  type: 'element',
  tagName,
  properties,
  children,
});
const textNode = (value: string): Node => ({ type: 'text', value });

/** Says where a line of code wraps: at no hyphen of a word that fits, in a longer one after `(`, `,`, `/` or `=`. */
export function wrapLine(line: Node): void {
  const text = textOf(line);
  // The spaces before a line, so that what is wrapped begins there too.
  const [, indent = ''] = /^( *)/.exec(text) ?? [];
  line.properties = { ...line.properties, style: `--indent: ${indent.length}ch` };
  const words = Array.from(text.matchAll(/\S+/g), ({ 0: word, index }) => ({ word, index }));
  let offset = 0;
  for (const token of line.children ?? []) {
    const value = textOf(token);
    token.children = value.split(/(?<=\s)(?=\S)|(?<=\S)(?=\s)|(?<=[(,/=])/).flatMap((part) => {
      const word = words.findLast(({ index }) => index <= offset)?.word ?? '';
      offset += part.length;
      const kept = part.includes('-') && part.length <= fitting;
      const node = kept ? element('span', [textNode(part)], { class: 'word' }) : textNode(part);
      return word.length > fitting && /[(,/=]$/.test(part) ? [node, element('wbr', [])] : [node];
    });
  }
}
