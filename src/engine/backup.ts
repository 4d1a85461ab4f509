/**
 * `quietzone backup DIR`: all data, copied beside a running service.
 *
 *   delivery.mdb -> [ hold journal segments ] -> scans.mdb -> journals -> management.mdb -> secrets, files
 *
 * The order makes the copies consistent: a file is copied before the files that it refers to.
 * A delivery's cursor never runs ahead of its outbox (an event may be sent again, none is lost). The
 * journals have every scan that the copied scans.mdb has not counted, and no other (backup-journals.ts).
 * Every scanned code exists.
 *
 * LMDB copies a snapshot without stopping its writers (never compacting: that can corrupt). The result
 * has a manifest with the hash of every file, and gets its name when it is complete: half a backup never
 * looks like one. Caches are left out: they can be made again.
 */
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { StoreEnvironment } from '../store/environment.ts';
import { lowestWatermarks, openScanStore } from '../store/scans/scans.ts';
import {
  assertEmpty,
  type BackupSummary,
  type CopiedFile,
  copyFile,
  describe,
  type Manifest,
  manifestName,
  manifestVersion,
  type OnFile,
} from './backup-files.ts';
import { HeldJournals } from './backup-journals.ts';
import { systemErrorCode } from '../model/failure.ts';
import { DataFolderError, type DataFolder, makeFolder } from './data-folder.ts';

/** Tries where a journal segment came and went unseen. */
const triesMax = 3;
/** Locks and sockets of a running service, its write probes, half-written secrets, the image cache. */
const leftOut = /\.mdb-lock$|\.sock$|\.trial$|\.new$|^cache$/;

/**
 * @param target a folder that does not exist, or is empty; not in the data folder
 * @param createdAt ISO 8601, for the manifest
 * @throws DataFolderError when the target is not empty or cannot be written, or a journal grows too fast
 */
export async function backup(
  folder: DataFolder,
  target: string,
  createdAt: string,
  onFile: OnFile,
): Promise<BackupSummary> {
  const path = resolve(target);
  if (`${path}${sep}`.startsWith(`${folder.path}${sep}`)) {
    throw new DataFolderError(
      `Cannot back up to ${path}: it is in the data folder, expected one outside`,
    );
  }
  const draft = join(dirname(path), `.${basename(path)}.partial`);
  try {
    assertEmpty(path, 'back up to');
    rmSync(draft, { recursive: true, force: true });
    makeFolder(draft);
  } catch (error) {
    throw refusal(path, error);
  }
  const files: CopiedFile[] = [];
  const keep = async (name: string): Promise<void> => {
    const copied = await describe(draft, name);
    files.push(copied);
    onFile(name, copied.bytes);
  };
  try {
    await copyAll(folder, draft, keep);
    const manifest: Manifest = { version: manifestVersion, createdAt, files };
    writeFileSync(join(draft, manifestName), JSON.stringify(manifest, undefined, 2), {
      flush: true,
    });
    rmSync(path, { recursive: true, force: true });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw refusal(path, error);
  }
  return { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** A system error about the target as a message for the operator; other errors unchanged. */
function refusal(path: string, error: unknown): unknown {
  if (error instanceof DataFolderError || !(error instanceof Error && 'syscall' in error)) {
    return error;
  }
  return new DataFolderError(
    `Cannot back up to ${path}: ${systemErrorCode(error)}, expected a folder that can be made and written`,
  );
}

type Keep = (name: string) => Promise<void>;

async function copyAll(folder: DataFolder, draft: string, keep: Keep): Promise<void> {
  const environments = readdirSync(folder.path).filter((name) => name.endsWith('.mdb'));
  const first = ['scans.mdb', 'management.mdb'];
  for (const name of environments.filter((name) => !first.includes(name))) {
    await copyEnvironment(folder, draft, name);
    await keep(name);
  }
  for (const name of await copyScans(folder, draft)) await keep(name);
  await copyEnvironment(folder, draft, 'management.mdb');
  await keep('management.mdb');
  for (const name of otherFiles(folder.path)) {
    await copyFile(join(folder.path, name), join(draft, name));
    await keep(name);
  }
}

async function copyEnvironment(folder: DataFolder, draft: string, name: string): Promise<void> {
  const environment = new StoreEnvironment(join(folder.path, name));
  try {
    await environment.copyTo(join(draft, name));
  } finally {
    await environment.close();
  }
}

/** Copies scans.mdb and the journals that continue it; returns their names. */
async function copyScans(folder: DataFolder, draft: string): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    rmSync(join(draft, 'journal'), { recursive: true, force: true });
    rmSync(join(draft, 'scans.mdb'), { force: true });
    const journals = await HeldJournals.hold(folder.journalRoot);
    try {
      const hasScans = existsSync(folder.scansFile);
      if (hasScans) await copyEnvironment(folder, draft, 'scans.mdb');
      const counted = hasScans ? await countedIn(join(draft, 'scans.mdb')) : new Map();
      const names = await journals.copy(join(draft, 'journal'), (no) => counted.get(no) ?? 0);
      if (names !== undefined) {
        return [...(hasScans ? ['scans.mdb'] : []), ...names.map((name) => `journal/${name}`)];
      }
    } finally {
      await journals.close();
    }
    if (attempt === triesMax) {
      throw new DataFolderError(
        `Cannot back up ${folder.path}: its journals grow faster than they are copied, try again later`,
      );
    }
  }
}

/** By journal: the position below which the copied store has counted every scan. */
async function countedIn(copy: string): Promise<Map<number, number>> {
  const store = openScanStore(copy);
  try {
    return lowestWatermarks(store);
  } finally {
    await store.environment.close();
    rmSync(`${copy}-lock`, { force: true });
  }
}

/** Files beside environments and journals: secrets, logos and other files of modules. */
function otherFiles(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (leftOut.test(entry.name) || name === 'journal' || name.endsWith('.mdb')) return [];
    if (entry.isDirectory()) return otherFiles(folder, name);
    return entry.isFile() ? [name] : [];
  });
}
