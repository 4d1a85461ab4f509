/** Folders and functions of a size that can be read at once; oxlint has files, and the functions of src. */
import { dirname } from 'node:path';
import { Visitor, type Node } from 'oxc-parser';
import { finding, type Law } from './source.ts';

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
