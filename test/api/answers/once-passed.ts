/** For checks that take seconds, such as a linter's: they run again only when what they check has changed. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = new URL('../../..', import.meta.url).pathname;
const folder = join(root, 'node_modules/.cache/quietzone-passed');

/**
 * Runs the check, unless it passed before with the same text, test file and package-lock.json: always in a fresh clone.
 * @param test `import.meta.filename` of the test file, which says what is checked
 */
export async function oncePassed(
  test: string,
  text: string,
  check: () => Promise<void>,
): Promise<void> {
  const hash = createHash('sha256').update(text);
  for (const path of [test, join(root, 'package-lock.json')]) hash.update(readFileSync(path));
  const passed = join(folder, hash.digest('hex'));
  if (existsSync(passed)) return;
  await check();
  mkdirSync(folder, { recursive: true });
  writeFileSync(passed, '');
}
