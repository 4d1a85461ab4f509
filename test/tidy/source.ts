/** A file of the tree as the laws see it: parsed once (oxc), with what it imports. */
import { readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { type Node, parseSync, type Program, Visitor } from 'oxc-parser';

export interface Import {
  /** As written: a package, `node:…`, or a relative path. */
  readonly from: string;
  /** Path in the tree of a relative import. */
  readonly target: string | undefined;
  readonly isTypeOnly: boolean;
  /** `import(…)`: loaded when it is called. */
  readonly isDeferred: boolean;
  readonly offset: number;
}

export interface Source {
  /** From the root of the project, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly program: Program;
  readonly imports: readonly Import[];
}

/** A law returns its findings; none means that the tree keeps it. */
export type Law = (sources: readonly Source[]) => string[];

/** `src/a.ts:3 message`; the message says what to do instead. */
export function finding({ path, text }: Source, offset: number, message: string): string {
  return `${path}:${text.slice(0, offset).split('\n').length} ${message}`;
}

export function readSource(root: string, path: string): Source {
  const text = readFileSync(posix.join(root, path), 'utf8');
  const parsed = parseSync(path, text, { preserveParens: false });
  const { staticImports, staticExports, dynamicImports } = parsed.module;
  const create = (from: string, offset: number, isTypeOnly: boolean, isDeferred: boolean) => {
    const target = from.startsWith('.') ? posix.join(posix.dirname(path), from) : undefined;
    return { from, target, isTypeOnly, isDeferred, offset };
  };
  const imports = [
    ...staticImports.map(({ moduleRequest, start, entries }) => {
      const isTypeOnly = entries.length > 0 && entries.every(({ isType }) => isType);
      return create(moduleRequest.value, start, isTypeOnly, false);
    }),
    ...staticExports
      .flatMap(({ entries }) => entries)
      .flatMap(({ moduleRequest, start, isType }) =>
        moduleRequest === null ? [] : [create(moduleRequest.value, start, isType, false)],
      ),
    ...dynamicImports.flatMap(({ moduleRequest, start }) => {
      const written = text.slice(moduleRequest.start, moduleRequest.end);
      const from = /^(['"`])(.*)\1$/s.exec(written)?.[2];
      return from === undefined ? [] : [create(from, start, false, true)];
    }),
  ];
  return {
    path,
    text,
    imports,
    // Read from the parser only by the laws that walk it.
    get program() {
      return parsed.program;
    },
  };
}

/** Folders and functions of a size that can be read at once; oxlint has files, and the functions of src. */

const functionLinesMax = 70;
/** Files beside one another; a folder with more of them has groups that a sub-folder can name. */
const folderFilesMax = 22;

/** @param paths every file of src, test and bench, whatever its kind */
export function checkFolders(paths: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > folderFilesMax)
    .map(
      ([folder, count]) =>
        `${folder} has ${count} files, at most ${folderFilesMax}; group them in sub-folders`,
    );
}

/** Functions of tests: a `describe` block is a chapter, which oxlint takes for a function. */
export const checkTestFunctions: Law = (sources) =>
  sources
    .filter(({ text }) => text.split('\n').length > functionLinesMax)
    .flatMap((source) => {
      const findings: string[] = [];
      const chapters = new Set<Node>();
      const check = (node: Node): void => {
        const lines = source.text.slice(node.start, node.end).split('\n').length;
        if (lines <= functionLinesMax || chapters.has(node)) return;
        const message = `a function of ${lines} lines, at most ${functionLinesMax}; give its steps names`;
        findings.push(finding(source, node.start, message));
      };
      new Visitor({
        CallExpression({ arguments: passed, start }) {
          if (!/^describe\b/.test(source.text.slice(start, start + 10))) return;
          for (const argument of passed) chapters.add(argument);
        },
        FunctionDeclaration: check,
        FunctionExpression: check,
        ArrowFunctionExpression: check,
      }).visit(source.program);
      return findings;
    });
