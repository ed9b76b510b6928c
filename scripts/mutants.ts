import { resolve } from 'node:path';
import ts from 'typescript-5';

/** A change to one place of a source file that removes a check or bends it. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** The line before the change and what was done to it: how a survivor is recognized when lines move. */
  readonly original: string;
  readonly what: string;
  /** The whole changed file. */
  readonly source: string;
}

const otherOperators: Readonly<Record<string, string>> = {
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '+=': '-=',
};
const otherNames: Readonly<Record<string, string>> = {
  every: 'some',
  some: 'every',
  min: 'max',
  max: 'min',
  ceil: 'floor',
  floor: 'ceil',
};

/** Returns the texts that can stand in place of a node. */
function replacements(node: ts.Node): readonly string[] {
  const text = node.getText();
  const { parent } = node;
  if (ts.isIfStatement(parent) || ts.isWhileStatement(parent)) {
    if (node === parent.expression) return ['true', 'false'];
  }
  if (ts.isConditionalExpression(parent) && node === parent.condition) return ['true', 'false'];
  if (ts.isBinaryExpression(parent) && node === parent.operatorToken) return listOf(otherOperators[text]);
  if (ts.isPropertyAccessExpression(parent) && node === parent.name) return listOf(otherNames[text]);
  if (ts.isPrefixUnaryExpression(node) && text.startsWith('!')) return [text.slice(1)];
  if (ts.isNumericLiteral(node)) return [String(Number(text.replaceAll('_', '')) + 1)];
  if (ts.isBigIntLiteral(node)) return [`${BigInt(text.slice(0, -1)) + 1n}n`];
  if (ts.isStringLiteral(node) && !ts.isImportDeclaration(parent)) return [text.length > 2 ? "''" : "'mutant'"];
  if (ts.isRegularExpressionLiteral(node)) return ['/(?!)/g', '/(?:)/g'];
  if (text === 'true' || text === 'false') return [text === 'true' ? 'false' : 'true'];
  if (ts.isExpressionStatement(node) || ts.isThrowStatement(node) || ts.isForOfStatement(node)) return [';'];
  return [];
}

const listOf = (text: string | undefined) => (text === undefined ? [] : [text]);

/** Whether a node is a member of an object or an element of a list, which can go with its comma. */
const isMember = ({ parent }: ts.Node) => ts.isObjectLiteralExpression(parent) || ts.isArrayLiteralExpression(parent);

/** Returns every mutant of a file that is another program than the file: what only changes types is left out. */
export function mutantsOf(file: string, source: string): readonly Mutant[] {
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  const seen = new Set([transpiler.transformSync(source)]);
  const mutants: Mutant[] = [];
  const lines = source.split('\n');

  function add(start: number, end: number, text: string): void {
    const changed = source.slice(0, start) + text + source.slice(end);
    try {
      const program = transpiler.transformSync(changed);
      if (seen.has(program)) return;
      seen.add(program);
    } catch {
      return;
    }
    const line = source.slice(0, start).split('\n').length;
    const from = source.slice(start, end).replaceAll(/\s+/g, ' ').slice(0, 50);
    const original = lines[line - 1]?.trim() ?? '';
    mutants.push({
      file,
      line,
      original,
      what: text === '' ? `without ${from}` : `${from} to ${text}`,
      source: changed,
    });
  }

  function visit(node: ts.Node): void {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (node.parent) {
      for (const text of replacements(node)) add(node.getStart(), node.getEnd(), text);
      if (isMember(node))
        add(node.getStart(), source.charAt(node.getEnd()) === ',' ? node.getEnd() + 1 : node.getEnd(), '');
    }
    ts.forEachChild(node, visit);
  }
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true));
  return mutants;
}

/** Whether the compiler accepts a changed file, and with `isWhole` also all other files. What it rejects cannot be committed. */
export type Compiles = (file: string, source: string, isWhole?: boolean) => boolean;

export function createCompiler(files: readonly string[]): Compiles {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');
  const changed = new Map<string, { version: number; source: string | undefined }>();
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => files.map((file) => resolve(file)),
    getScriptVersion: (file) => String(changed.get(file)?.version ?? 0),
    getScriptSnapshot(file) {
      const text = changed.get(file)?.source ?? ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => process.cwd(),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
  });
  const put = (file: string, source: string | undefined) =>
    changed.set(file, { version: (changed.get(file)?.version ?? 0) + 1, source });
  return (name, source, isWhole = false) => {
    const file = resolve(name);
    put(file, source);
    const checked = isWhole ? files.map((one) => resolve(one)) : [file];
    const isAccepted = checked.every((one) => service.getSemanticDiagnostics(one).length === 0);
    put(file, undefined);
    return isAccepted;
  };
}
