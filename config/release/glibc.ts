/**
 * The oldest glibc that a native file runs with, read by `readelf`.
 *
 * A symbol of glibc or libstdc++ is linked under the version that brought its behavior (`GLIBC_2.28`), and a loader whose
 * library lacks that version refuses the file.
 */
import { platforms, type Target } from './natives.ts';
import { runTool } from './tools.ts';

/** Releases of glibc that the program may be built for. */
export type Glibc = '2.28' | '2.34';

/** What a distribution of that glibc has at least: the libraries of GCC 8, and of GCC 11. */
const floors: Readonly<Record<Glibc, ReadonlyMap<string, string>>> = {
  '2.28': new Map([
    ['GLIBC', '2.28'],
    ['GLIBCXX', '3.4.25'],
    ['CXXABI', '1.3.11'],
    ['GCC', '7.0.0'],
  ]),
  '2.34': new Map([
    ['GLIBC', '2.34'],
    ['GLIBCXX', '3.4.29'],
    ['CXXABI', '1.3.13'],
    ['GCC', '7.0.0'],
  ]),
};

/**
 * @returns false where `readelf` is missing: nothing was checked
 * @throws Error for a file of another processor, or one that needs a newer glibc or libstdc++
 */
export function checkRuns(file: string, target: Target, glibc: Glibc): boolean {
  const text = runTool('readelf', ['--file-header', '--version-info', '--wide', file]);
  if (text === undefined) return false;
  const machine = /^ *Machine: +(.+)$/m.exec(text)?.[1] ?? 'nothing known';
  if (!machine.endsWith(platforms[target].machine)) {
    throw new Error(`Cannot ship ${file}: it is for ${machine}, expected ${target}`);
  }
  const [, needs = ''] = text.split('\nVersion needs section');
  for (const [, name = '', system = '', version = ''] of needs.matchAll(/Name: ((\w+?)_(\S+))/g)) {
    const floor = floors[glibc].get(system);
    // One without a number binds the file to one build of glibc, or to a feature of 2.36 or later.
    if (floor === undefined || (/^\d/.test(version) && !isNewer(version, floor))) continue;
    throw new Error(
      `Cannot ship ${file}: it requires ${name}, expected at most ${system}_${floor}`,
    );
  }
  return true;
}

const isNewer = (version: string, floor: string): boolean =>
  version.localeCompare(floor, 'en', { numeric: true }) > 0;
