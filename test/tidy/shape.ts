/** Law 4: functions, files and folders of a size that can be read at once; no barrels, no drawers. */
import type { Node } from 'oxc-parser';
import type { File, Finding, Source } from './source.ts';

export const functionLinesMax = 70;
export const fileLinesMax = 400;
/** Files beside one another; a folder with more of them has groups that a sub-folder can name. */
export const folderFilesMax = 22;

/** Names that say nothing about what is inside. */
const drawers = /^(utils?|helpers?|commons?|libs?|misc|shared|stuff)$/;

export function checkShape(sources: readonly Source[]): Finding[] {
  return sources.flatMap((source) => [
    ...fileLength(source),
    ...functions(source),
    ...barrels(source),
  ]);
}

export function checkNames(files: readonly File[]): Finding[] {
  const findings: Finding[] = [];
  for (const { path } of files) {
    const named = path.split('/').find((part) => drawers.test(part.split('.')[0] ?? ''));
    if (named === undefined) continue;
    const message = `"${named}" is a drawer; name the file after the one thing in it`;
    findings.push({ path, line: 1, message });
  }
  return findings;
}

export function checkFolders(files: readonly File[]): Finding[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = path.split('/').slice(0, -1).join('/');
    if (/^(src|test|bench)\//.test(folder)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > folderFilesMax)
    .map(([path, count]) => {
      const message = `${count} files in one folder, at most ${folderFilesMax}; group them in sub-folders`;
      return { path, line: 1, message };
    });
}

function fileLength(source: Source): Finding[] {
  const lines = source.text.replace(/\n$/, '').split('\n').length;
  if (lines <= fileLinesMax) return [];
  const message = `${lines} lines, at most ${fileLinesMax}; split it by noun`;
  return [{ path: source.path, line: fileLinesMax + 1, message }];
}

function functions(source: Source): Finding[] {
  const findings: Finding[] = [];
  const described = new Set<Node>();
  const check = (node: Node): void => {
    const lines = source.line(node.end) - source.line(node.start) + 1;
    if (lines <= functionLinesMax || described.has(node)) return;
    const message = `a function of ${lines} lines, at most ${functionLinesMax}; give its steps names`;
    findings.push(source.finding(node.start, message));
  };
  source.visit({
    // A `describe` block is a chapter, not a function.
    CallExpression(node) {
      if (/^describe\b/.test(source.text.slice(node.start, node.start + 10))) {
        for (const argument of node.arguments) described.add(argument);
      }
    },
    FunctionDeclaration: check,
    FunctionExpression: check,
    ArrowFunctionExpression: check,
  });
  return findings;
}

/** A file whose every statement passes on what another file has, and `export *` anywhere. */
function barrels(source: Source): Finding[] {
  const { body } = source.program;
  const message = 'a barrel; import from the file that has the thing';
  const star = body.find((statement) => statement.type === 'ExportAllDeclaration');
  if (star !== undefined) return [source.finding(star.start, message)];
  const passesOn = body.map((statement) =>
    statement.type === 'ExportNamedDeclaration'
      ? statement.declaration === null
      : statement.type === 'ImportDeclaration',
  );
  const exports = body.some((statement) => statement.type === 'ExportNamedDeclaration');
  return exports && passesOn.every(Boolean) ? [source.finding(body[0]?.start ?? 0, message)] : [];
}
