/** The text of `quietzone version`, which the single executable's boot code (config/release/boot.ts) prints too. */
import type { NativeFile, Shipped } from '../platform/shipped.ts';

/** `0.1.0 (3f2c9a1b7d04, linux-x64, Node.js 22.23.3)`. */
export function versionText({
  version,
  commit,
  target,
}: Pick<Shipped, 'version' | 'commit' | 'target'>): string {
  const build = commit === '' ? 'from source' : `${commit}, ${target}`;
  return `${version} (${build}, Node.js ${process.versions.node})`;
}

/** The files of machine code that were built in, a line each: SHA-256, name, package and version. */
export function nativesText(natives: readonly NativeFile[]): string[] {
  return natives.map(
    ({ name, package: from, version, sha256 }) => `${sha256}  ${name} (${from} ${version})`,
  );
}
