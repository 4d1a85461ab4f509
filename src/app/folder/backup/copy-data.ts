/**
 * Copies the files of a backup, each with its hash, in the order that keeps them consistent (backup.ts).
 *
 *   delivery.mdb -> scans.mdb, journals -> management.mdb -> secrets, files
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { withEnvironment } from '../../../store/environment.ts';
import type { ManagementMark } from '../../../store/installation.ts';
import { lowestWatermarks, openWatermarks } from '../../../store/scans/scans.ts';
import {
  assertSpace,
  type CopiedFile,
  copyEnvironment,
  copyFile,
  type CopyProgress,
  hashOf,
  removeLocks,
} from './copy-files.ts';
import { type FolderAccess, ownAccess } from './folder-access.ts';
import { HeldJournals } from './held-journals.ts';
import { dataVersions } from './manifest.ts';
import { bytesOf } from '../data-files.ts';
import { type DataFolder, makeFolder } from '../data-folder.ts';
import { journalMarkName, writeJournalMark } from '../folder-parts.ts';
import { markCopy } from '../installation.ts';

/**
 * Not copied: locks, sockets, process id and write probes of a running service, drafts of secrets, files set aside,
 * caches, and the identity of a cluster node, because a restored folder belongs to a single machine.
 */
const leftOut =
  /\.mdb-lock$|\.sock$|\.trial$|\.new$|\.set-aside-|^cache$|^(cluster|start)\.json$|^service\.pid$/;

export interface CopyTask {
  readonly folder: DataFolder;
  readonly access: Pick<FolderAccess, 'pin'>;
  readonly draft: string;
  readonly progress: CopyProgress;
  /** The mark of all copies. Undefined = copy only data files and journals, for another core of a cluster. */
  readonly mark: ManagementMark | undefined;
}

export async function copyData(task: CopyTask): Promise<CopiedSet> {
  const { folder, mark } = task;
  const set = new CopiedSet(task);
  await set.addDataFile('delivery.mdb');
  await copyScans(task, set);
  await set.addDataFile('management.mdb');
  if (mark === undefined) return set;
  for (const name of otherFiles(folder.path)) {
    if (name !== journalMarkName) await set.addFile(name);
  }
  await set.addJournalMark(mark);
  return set;
}

/** Copies the data of a running core for another core, without keys and other files.
 * @param onBytes throws to end it @throws DataFolderError; Error of the system
 */
export async function copyStores(
  folder: DataFolder,
  draft: string,
  onBytes: () => void,
): Promise<readonly CopiedFile[]> {
  const ignored = (): void => undefined;
  const progress = { begin: ignored, add: onBytes, file: ignored, check: ignored };
  makeFolder(draft);
  assertSpace(draft, bytesToCopy(folder, []), 'copy the data of this core for another one');
  const access = ownAccess(folder);
  const copied = await copyData({ folder, access, draft, progress, mark: undefined });
  removeLocks(draft);
  return await copied.hashed(onBytes);
}

export function bytesToCopy({ path }: DataFolder, others = otherFiles(path)): number {
  const names = [...dataVersions.keys(), ...others, ...segmentFiles(path)];
  return names.reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}

class CopiedSet {
  readonly #task: CopyTask;
  /** Without data files, because the verification still writes to them. */
  readonly #files: CopiedFile[] = [];
  readonly onBytes = (bytes: number): void => this.#task.progress.add(bytes);

  constructor(task: CopyTask) {
    this.#task = task;
  }

  /** @param onSnapshot see `copyEnvironment` */
  async addDataFile(name: string, onSnapshot?: () => Promise<void>): Promise<void> {
    const { folder, access, draft, progress, mark } = this.#task;
    const [from, to] = [join(folder.path, name), join(draft, name)];
    await copyEnvironment(from, to, this.onBytes, () => access.pin(name), onSnapshot);
    if (mark !== undefined) await markCopy(to, mark);
    progress.file(name, bytesOf(to));
  }

  /** For all files but data files. Skips a file deleted in the meantime. */
  async addFile(name: string): Promise<void> {
    const { folder, draft } = this.#task;
    const copied = await copyFile(join(folder.path, name), join(draft, name), this.onBytes);
    if (copied !== undefined) this.addCopied({ name, ...copied });
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
    this.#files.push(file);
    this.#task.progress.file(file.name, file.bytes);
  }

  /** Hashes all files of the copy, after the last write to them. @param onRead throws to end it */
  async hashed(onRead?: () => void): Promise<CopiedFile[]> {
    const hashed = [...this.#files];
    for (const name of dataVersions.keys()) {
      hashed.push({ name, ...(await hashOf(join(this.#task.draft, name), onRead)) });
    }
    return hashed;
  }
}

async function copyScans({ folder, draft }: CopyTask, set: CopiedSet): Promise<void> {
  const journals = new HeldJournals(folder.journalRoot);
  try {
    await journals.hold();
    await set.addDataFile('scans.mdb', () => journals.hold());
    const counted = await countedIn(join(draft, 'scans.mdb'));
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
const countedIn = (scansFile: string): Promise<Map<number, number>> =>
  withEnvironment(scansFile, 'existing', (environment) =>
    environment.hasTable('watermarks')
      ? lowestWatermarks({ watermarks: openWatermarks(environment) })
      : new Map(),
  );

/** Names of secrets and other files. Follows links. */
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
