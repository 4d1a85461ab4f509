/** Tools of binutils and dpkg. A build works without them: what a missing one makes or checks is left out, and reported. */
import { execFileSync } from 'node:child_process';

/** @returns what it prints; undefined where it is not installed @throws Error when it fails */
export function runTool(
  name: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): string | undefined {
  const env = { ...process.env, LC_ALL: 'C', ...environment };
  try {
    return execFileSync(name, args, { encoding: 'utf8', env, maxBuffer: 2 ** 28 });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
