/**
 * Copies the files of a backup, each with its hash, in the order that keeps them consistent (backup.ts).
 *
 *   delivery.mdb -> scans.mdb, journals -> management.mdb -> secrets, files
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { withEnvironment } from '../../store/environment.ts';
import type { ManagementMark } from '../../store/installation.ts';
import { lowestWatermarks, openWatermarks } from '../../store/scans/scans.ts';
import {
  type CopiedFile,
  copyEnvironment,
  copyFile,
  type CopyProgress,
  hashOf,
  remove,
  UnreadableError,
} from './copy-files.ts';
import type { FolderAccess } from './folder-access.ts';
import { HeldJournals } from './held-journals.ts';
import { dataVersions } from './manifest.ts';
import { bytesOf } from '../data-files.ts';
import { type DataFolder, makeFolder } from '../data-folder.ts';
import { journalMarkName, writeJournalMark } from '../installation/folder-parts.ts';
import { markCopy } from '../installation/installation.ts';

/**
 * Locks, sockets, process id and write probes of a running service, drafts of secrets, files that were set aside, caches.
 * And the identity of a cluster's node: a restored folder is one of a single machine.
 */
const leftOut =
  /\.mdb-lock$|\.sock$|\.trial$|\.new$|\.set-aside-|^cache$|^cluster\.json$|^service\.pid$/;
/** The other data files refer to these. */
const copiedLast = ['scans.mdb', 'management.mdb'];

/** stores = only data files and journals, for another core of a cluster. */
export type CopyContent = 'folder' | 'stores';

export interface CopyTask {
  readonly folder: DataFolder;
  readonly access: Pick<FolderAccess, 'pin'>;
  readonly content: CopyContent;
  readonly draft: string;
  readonly progress: CopyProgress;
  /** Names of data files that LMDB must not open, to copy byte by byte. */
  readonly unsound: ReadonlySet<string>;
  /** Replaces the mark of every copy; undefined = they stay. */
  readonly mark: ManagementMark | undefined;
}

export async function copyData(task: CopyTask): Promise<CopiedSet> {
  const { folder, mark } = task;
  const set = new CopiedSet(task);
  for (const name of dataFilesIn(task).filter((name) => !copiedLast.includes(name))) {
    await set.addDataFile(name);
  }
  await copyScans(task, set);
  if (existsSync(folder.managementFile)) await set.addDataFile('management.mdb');
  for (const name of task.content === 'folder' ? otherFiles(folder.path) : []) {
    if (name !== journalMarkName || mark === undefined) await set.addFile(name);
  }
  if (mark !== undefined) await set.addJournalMark(mark);
  return set;
}

/** Adds the hashes of data files. Nothing may write to them any more. */
export async function hashedFiles(
  draft: string,
  { files, dataFiles }: CopiedSet,
): Promise<CopiedFile[]> {
  const hashed = [...files];
  for (const name of dataFiles) hashed.push({ name, ...(await hashOf(join(draft, name))) });
  return hashed;
}

export function bytesToCopy(source: Pick<CopyTask, 'folder' | 'content'>): number {
  const { path } = source.folder;
  const others = source.content === 'folder' ? otherFiles(path) : [];
  const names = [...dataFilesIn(source), ...others, ...segmentFiles(path)];
  return names.reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}

function dataFilesIn({ folder, content }: Pick<CopyTask, 'folder' | 'content'>): string[] {
  const isWanted = (name: string): boolean => content === 'folder' || dataVersions.has(name);
  return readdirSync(folder.path).filter((name) => name.endsWith('.mdb') && isWanted(name));
}

class CopiedSet {
  readonly #task: CopyTask;
  /** Names of data files, without hashes: the verification still writes to them. */
  readonly dataFiles: string[] = [];
  readonly files: CopiedFile[] = [];
  readonly unreadable: string[] = [];
  readonly onBytes = (bytes: number): void => this.#task.progress.add(bytes);

  constructor(task: CopyTask) {
    this.#task = task;
  }

  /** @param onSnapshot see `copyEnvironment` */
  async addDataFile(name: string, onSnapshot?: () => Promise<void>): Promise<void> {
    const { folder, access, draft, progress, unsound, mark } = this.#task;
    const [from, to] = [join(folder.path, name), join(draft, name)];
    await this.#unlessUnreadable(name, async () => {
      if (unsound.has(name)) await copyFile(from, to, this.onBytes);
      else await copyEnvironment(from, to, this.onBytes, () => access.pin(name), onSnapshot);
      if (mark !== undefined) await markCopy(to, mark);
      this.dataFiles.push(name);
      progress.file(name, bytesOf(to));
    });
  }

  /** Not for data files. Leaves out a file that was deleted meanwhile. */
  async addFile(name: string): Promise<void> {
    const { folder, draft } = this.#task;
    await this.#unlessUnreadable(name, async () => {
      const copied = await copyFile(join(folder.path, name), join(draft, name), this.onBytes);
      if (copied !== undefined) this.addCopied({ name, ...copied });
    });
  }

  async addJournalMark(mark: ManagementMark): Promise<void> {
    const { draft } = this.#task;
    makeFolder(join(draft, 'journal'));
    writeJournalMark(join(draft, 'journal'), mark);
    const copied = await hashOf(join(draft, journalMarkName));
    this.onBytes(copied.bytes);
    this.addCopied({ name: journalMarkName, ...copied });
  }

  addCopied(file: CopiedFile): void {
    this.files.push(file);
    this.#task.progress.file(file.name, file.bytes);
  }

  async #unlessUnreadable(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      remove(join(this.#task.draft, name));
      this.unreadable.push(`${name} ${error.message}`);
    }
  }
}

async function copyScans(task: CopyTask, set: CopiedSet): Promise<void> {
  const { folder, draft } = task;
  const journals = new HeldJournals(folder.journalRoot);
  try {
    await journals.hold();
    if (existsSync(folder.scansFile)) await set.addDataFile('scans.mdb', () => journals.hold());
    const counted = await countedIn(task, set);
    const copies = await journals.copy(
      join(draft, 'journal'),
      set.onBytes,
      (journal) => counted.get(journal) ?? 0,
    );
    for (const file of copies) set.addCopied({ ...file, name: `journal/${file.name}` });
  } finally {
    await journals.close();
  }
}

/** By journal: the position below which the copied store has counted every scan. */
async function countedIn(
  { draft, unsound }: CopyTask,
  { dataFiles }: CopiedSet,
): Promise<Map<number, number>> {
  const name = 'scans.mdb';
  if (!dataFiles.includes(name) || unsound.has(name)) return new Map();
  return await withEnvironment(join(draft, name), 'existing', (environment) =>
    environment.hasTable('watermarks')
      ? lowestWatermarks({ watermarks: openWatermarks(environment) })
      : new Map(),
  );
}

/** Secrets and other files. Follows links. */
function otherFiles(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below)).flatMap((entry) => {
    const name = below === '' ? entry : `${below}/${entry}`;
    if (leftOut.test(entry) || isSegmentFolder(name) || name.endsWith('.mdb')) return [];
    const stats = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stats?.isDirectory()) return otherFiles(folder, name);
    return stats?.isFile() ? [name] : [];
  });
}

const isSegmentFolder = (name: string): boolean => /^journal\/\d{1,5}$/.test(name);

function segmentFiles(folder: string): string[] {
  const root = join(folder, 'journal');
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.log'))
    .map((name) => `journal/${name}`);
}
