/**
 * The dashboard, built once for all services that tests start: each finds it in its data folder, as after an earlier
 * start. Kept from one run to the next; only other sources cost a build.
 */
import { copyFileSync, existsSync, linkSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../../src/engine/data-folder.ts';
import { openDashboard } from '../../src/http/dashboard/dashboard-cache.ts';
import { createLog } from '../../src/telemetry/log.ts';

const shared = fileURLToPath(new URL('../../node_modules/.cache/quietzone', import.meta.url));

/** Called by vitest before all tests. @throws Error when it cannot be built */
export async function setup(): Promise<void> {
  const lines: string[] = [];
  await openDashboard(shared, createLog('warn', { write: (line) => void lines.push(line) }));
  if (lines.length > 0) throw new Error(lines.join(''));
}

/** Puts it into a data folder that is about to be used, unless it is there or the folder cannot be made. */
export function addDashboard(dataDir: string): void {
  const cache = join(dataDir, 'cache');
  if (!existsSync(shared)) return;
  try {
    makeFolder(cache);
  } catch {
    return;
  }
  for (const name of readdirSync(shared)) addFile(join(shared, name), join(cache, name));
}

function addFile(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EXDEV') copyFileSync(from, to);
    else if (code !== 'EEXIST') throw error;
  }
}
