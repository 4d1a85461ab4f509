/**
 * Checks with `readelf` that a native file runs on the oldest supported glibc.
 *
 * A symbol of glibc or libstdc++ is linked under the version that introduced its behavior (`GLIBC_2.34`). A loader whose
 * library lacks that version refuses the file.
 */
import { platforms, type Target } from './natives.ts';
import { runTool } from './tools.ts';

export const glibcMin = '2.34';

/** Debian 12, Ubuntu 22.04 and RHEL 9 have at least these: glibc 2.34 and the libraries of GCC 11. */
const floors: ReadonlyMap<string, string> = new Map([
  ['GLIBC', glibcMin],
  ['GLIBCXX', '3.4.29'],
  ['CXXABI', '1.3.13'],
  ['GCC', '7.0.0'],
]);

/**
 * @returns false where `readelf` is missing: nothing was checked
 * @throws Error for a file of another processor, or one that needs a newer glibc or libstdc++
 */
export function checkRuns(file: string, target: Target): boolean {
  const text = runTool('readelf', ['--file-header', '--version-info', '--wide', file]);
  if (text === undefined) return false;
  const machine = /^ *Machine: +(.+)$/m.exec(text)?.[1] ?? 'an unknown processor';
  if (!machine.endsWith(platforms[target].machine)) {
    throw new Error(`Cannot ship ${file}: it is for ${machine}, expected ${target}`);
  }
  const [, needs = ''] = text.split('\nVersion needs section');
  for (const [, name = '', system = '', version = ''] of needs.matchAll(/Name: ((\w+?)_(\S+))/g)) {
    const floor = floors.get(system);
    // A version without a number belongs to one build of glibc, or to a feature of 2.36 or later.
    if (floor === undefined || (/^\d/.test(version) && !isNewer(version, floor))) continue;
    throw new Error(
      `Cannot ship ${file}: it requires ${name}, expected at most ${system}_${floor}`,
    );
  }
  return true;
}

const isNewer = (version: string, floor: string): boolean =>
  version.localeCompare(floor, 'en', { numeric: true }) > 0;
