/**
 * `quietzone backup DIR`: all data, copied beside a running service.
 *
 *   delivery.mdb -> [ open journal segments ] -> scans.mdb -> journals -> management.mdb -> secrets, files
 *
 * The order makes the copies consistent: a file is copied before the files that it refers to.
 * A delivery's cursor never runs ahead of its outbox (an event may be sent again, none is lost). The
 * journals have every scan that the copied scans.mdb has not counted: segments that are counted and
 * deleted meanwhile are read through descriptors opened before. Every scanned code exists.
 *
 * LMDB copies a snapshot without stopping its writers (never compacting: that can corrupt). The result
 * has a manifest with the hash of every file, and gets its name when it is complete: half a backup never
 * looks like one. Caches are left out: they can be made again.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import {
  journalFolder,
  listJournals,
  listSegments,
  segmentFile,
} from '../scans/journal/segments.ts';
import { StoreEnvironment } from '../store/environment.ts';
import {
  assertEmpty,
  type BackupSummary,
  type CopiedFile,
  copyFile,
  copyHandle,
  describe,
  type Manifest,
  manifestName,
  manifestVersion,
  type OnFile,
} from './backup-files.ts';
import { DataFolderError, type DataFolder, makeFolder, systemErrorCode } from './data-folder.ts';

/** Copies of a journal that grows by whole segments while it is copied. */
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
    const journals = await openJournals(folder.journalRoot);
    try {
      if (existsSync(folder.scansFile)) await copyEnvironment(folder, draft, 'scans.mdb');
      const names = await copyJournals(folder.journalRoot, draft, journals);
      if (names !== undefined) {
        return existsSync(join(draft, 'scans.mdb')) ? ['scans.mdb', ...names] : names;
      }
    } finally {
      for (const segments of journals.values()) {
        for (const file of segments.values()) await file.close();
      }
    }
    if (attempt === triesMax) {
      throw new DataFolderError(
        `Cannot back up ${folder.path}: its journals grow faster than they are copied, try again later`,
      );
    }
  }
}

/** Journal -> start of a segment -> its file, which stays readable after it is deleted. */
type OpenJournals = Map<number, Map<number, FileHandle>>;

async function openJournals(root: string): Promise<OpenJournals> {
  const journals: OpenJournals = new Map();
  for (const journal of listJournals(root)) journals.set(journal, new Map());
  for (const [journal, segments] of journals) await openSegments(root, journal, segments);
  return journals;
}

async function openSegments(
  root: string,
  journal: number,
  segments: Map<number, FileHandle>,
): Promise<void> {
  const folder = journalFolder(root, journal);
  for (const start of listSegments(folder)) {
    if (segments.has(start)) continue;
    try {
      segments.set(start, await open(segmentFile(folder, start), 'r'));
    } catch (error) {
      // Counted and deleted since the listing: the copy of scans.mdb has its scans.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
  }
}

/** Undefined when a segment may have been created and deleted unseen: then scans could be missing. */
async function copyJournals(
  root: string,
  draft: string,
  journals: OpenJournals,
): Promise<string[] | undefined> {
  const names: string[] = [];
  for (const [journal, segments] of journals) {
    const known = Math.max(-1, ...segments.keys());
    await openSegments(root, journal, segments);
    const to = journalFolder(join(draft, 'journal'), journal);
    mkdirSync(to, { recursive: true });
    const starts = [...segments.keys()].sort((a, b) => a - b);
    let end = 0;
    for (const start of starts) {
      const file = segments.get(start);
      if (file === undefined) continue;
      const isFirstNew =
        start > known && known !== -1 && starts[starts.indexOf(start) - 1] === known;
      if (isFirstNew && start !== end) return undefined;
      end = start + (await copyHandle(file, segmentFile(to, start)));
      names.push(`journal/${journal}/${basename(segmentFile(to, start))}`);
    }
  }
  return names;
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
