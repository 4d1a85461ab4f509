/** All laws of the house over a list of files. */
import { checkArrows } from './arrows.ts';
import { checkEngines, checkHotFiles } from './engines.ts';
import { checkEntryPackages } from './entry-packages.ts';
import { checkFolders, checkNames, checkShape } from './shape.ts';
import { isScript, parseSource, type File, type Finding } from './source.ts';
import { checkFlags } from './flags.ts';
import { checkVocabulary } from './vocabulary.ts';
import {
  checkComments,
  checkConstants,
  checkFileNames,
  checkTests,
  checkTraces,
  checkTypes,
  checkWiring,
} from './words.ts';

/**
 * @param files scripts (parsed) and other texts of the tree
 * @param hot files that must exist and never wait, but for the functions named
 */
export function checkTree(
  files: readonly File[],
  hot: Readonly<Record<string, readonly string[]>>,
): Finding[] {
  const sources = files.filter(isScript).map(parseSource);
  return [
    ...checkArrows(sources),
    ...checkEngines(sources),
    ...checkEntryPackages(sources),
    ...checkHotFiles(sources, hot),
    ...checkNames(files),
    ...checkFolders(files),
    ...checkShape(sources),
    ...checkTypes(sources),
    ...checkFlags(sources),
    ...checkConstants(sources),
    ...checkTests(sources),
    ...checkWiring(sources),
    ...checkComments(sources),
    ...checkFileNames(files, sources),
    ...checkTraces(files),
    ...checkVocabulary(files, sources),
  ];
}

/** `src/a.ts:3 message`, sorted, one a line. */
export function formatFindings(findings: readonly Finding[]): string {
  const texts = findings.map(({ path, line, message }) => `${path}:${line} ${message}`);
  return texts.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).join('\n');
}
