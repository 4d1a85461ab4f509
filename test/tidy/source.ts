/**
 * A file of the tree as the laws see it: its text, its syntax tree (oxc), and what it imports.
 * Laws are functions from files to findings; nothing here reads a disk.
 */
import { parseSync, Visitor, type Comment, type Program, type VisitorObject } from 'oxc-parser';

export interface File {
  /** From the project's root, with `/`. */
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly path: string;
  readonly line: number;
  /** What is wrong and what to write instead. */
  readonly message: string;
}

export interface Import {
  /** As written: a package, `node:…`, or a relative path. */
  readonly from: string;
  /** Path in the tree of a relative import. */
  readonly target: string | undefined;
  readonly isTypeOnly: boolean;
  /** `import(…)`: loaded when it is called. */
  readonly isAwaited: boolean;
  readonly names: readonly string[];
  readonly line: number;
}

export interface Source extends File {
  readonly program: Program;
  readonly comments: readonly Comment[];
  readonly imports: readonly Import[];
  /** Line of an offset, from 1. */
  line(offset: number): number;
  visit(visitor: VisitorObject): void;
  finding(offset: number, message: string): Finding;
}

const scriptEnding = /\.(ts|tsx|mjs)$/;

export const isScript = (file: File): boolean => scriptEnding.test(file.path);

export function parseSource(file: File): Source {
  const { path, text } = file;
  const { program, comments, errors, module } = parseSync(path, text, { preserveParens: false });
  const [broken] = errors;
  if (broken !== undefined) throw new Error(`Cannot parse ${path}: ${broken.message}`);
  const starts = [0, ...[...text.matchAll(/\n/g)].map((match) => match.index + 1)];
  const line = (offset: number): number => {
    const next = starts.findIndex((start) => start > offset);
    return next === -1 ? starts.length : next;
  };
  const imports: Import[] = [];
  interface More {
    readonly types: readonly boolean[];
    readonly names: readonly string[];
    readonly isAwaited?: true;
  }
  const add = (from: string, at: number, more: More): void => {
    const isTypeOnly = more.types.length > 0 && more.types.every(Boolean);
    imports.push({
      from,
      target: resolve(path, from),
      isTypeOnly,
      isAwaited: more.isAwaited === true,
      names: more.names,
      line: line(at),
    });
  };
  for (const { moduleRequest, start, entries } of module.staticImports) {
    const types = entries.map(({ isType }) => isType);
    add(moduleRequest.value, start, { types, names: entries.map((e) => e.importName.name ?? '') });
  }
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest, start, isType, importName } of entries) {
      if (moduleRequest === null) continue;
      add(moduleRequest.value, start, { types: [isType], names: [importName.name ?? ''] });
    }
  }
  for (const { moduleRequest, start } of module.dynamicImports) {
    const literal = /^(['"`])(.*)\1$/s.exec(text.slice(moduleRequest.start, moduleRequest.end));
    if (literal?.[2] !== undefined) {
      add(literal[2], start, { types: [], names: [], isAwaited: true });
    }
  }
  return {
    path,
    text,
    program,
    comments,
    imports,
    line,
    visit: (visitor) => new Visitor(visitor).visit(program),
    finding: (offset, message) => ({ path, line: line(offset), message }),
  };
}

/** `./b.ts` in `src/a/c.ts` -> `src/a/b.ts`; undefined for packages. */
function resolve(path: string, from: string): string | undefined {
  if (!from.startsWith('.')) return undefined;
  const parts = path.split('/').slice(0, -1);
  for (const part of from.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}
