/**
 * The dashboard's files from the data folder; built only where the folder has none for these sources.
 *
 *   <folder>/dashboard-<key of sources and packages>
 *   file:   | SHA-256 of the rest, 32 bytes | path -> file, as v8 serialises a Map |
 *
 * Read whole at a start, 5 ms. A damaged file counts as missing, those of other sources are deleted, and all may be
 * deleted at any time. A failure costs pages or the next start's time, never the service.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { shipped } from '../../shipped.ts';
import type { Logger } from '../../telemetry/log.ts';
import { buildDashboard, type DashboardBundle, dashboardKey } from './dashboard-build.ts';

const hashBytes = 32;
const prefix = 'dashboard-';

/** Never rejects; empty where it could not be built. @param folder made when absent */
export async function openDashboard(
  folder: string,
  log: Logger,
  build: () => Promise<DashboardBundle> = buildDashboard,
): Promise<DashboardBundle> {
  try {
    const built = shipped.dashboard();
    if (built !== undefined) return bundleOf(built);
    const name = prefix + (await dashboardKey());
    const found = await read(join(folder, name));
    if (found !== undefined) return found;
    const bundle = await build();
    await keep(folder, name, bundle).catch((err: unknown) => {
      log.warn({ err }, 'keeping the dashboard failed, the next start builds it again');
    });
    return bundle;
  } catch (err) {
    log.error({ err }, 'building the dashboard failed, its pages are not served');
    return new Map();
  }
}

/** Undefined also where it is damaged or cannot be read. */
async function read(file: string): Promise<DashboardBundle | undefined> {
  const bytes = await readFile(file).catch(() => new Uint8Array());
  const content = bytes.subarray(hashBytes);
  if (!sha256(content).equals(bytes.subarray(0, hashBytes))) return undefined;
  return bundleOf(content);
}

/** Of bytes that were checked by their hash: what `serialize` has made of a bundle. */
function bundleOf(content: Uint8Array): DashboardBundle {
  const bundle: DashboardBundle = deserialize(content);
  return bundle;
}

async function keep(folder: string, name: string, bundle: DashboardBundle): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const content = serialize(bundle);
  const draft = join(folder, `${prefix}${randomUUID()}.new`);
  try {
    await writeFile(draft, [sha256(content), content], { mode: 0o600 });
    await rename(draft, join(folder, name));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  const others = (await readdir(folder)).filter((at) => at.startsWith(prefix) && at !== name);
  await Promise.all(others.map((other) => rm(join(folder, other), { force: true })));
}

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
