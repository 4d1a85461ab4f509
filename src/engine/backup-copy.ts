/**
 * The copies of a backup, in the order that keeps them consistent (backup.ts), each with its hash.
 *
 *   delivery.mdb -> [ hold journal segments ] -> scans.mdb -> journals -> management.mdb -> secrets, files
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StoreEnvironment } from '../store/environment.ts';
import type { ManagementMark } from '../store/installation.ts';
import { lowestWatermarks, openWatermarks } from '../store/scans/scans.ts';
import {
  type CopiedFile,
  copyEnvironment,
  copyFile,
  type CopyProgress,
  hashOf,
} from './backup-files.ts';
import { HeldJournals } from './backup-journals.ts';
import type { CopyDisk } from './copy-disk.ts';
import { DataFolderError, type DataFolder } from './data-folder.ts';
import { journalMarkName, journalMarkText } from './installation/folder-parts.ts';
import { markCopy, plainMark } from './installation/installation.ts';

/** Tries where a journal segment came and went unseen. */
const triesMax = 3;
/** Locks and sockets of a running service, its write probes, half-written secrets, the image cache. */
const leftOut = /\.mdb-lock$|\.sock$|\.trial$|\.new$|^cache$/;
/** After the other data files: what these refer to. */
const copiedLast = ['scans.mdb', 'management.mdb'];

export interface CopyTask {
  readonly folder: DataFolder;
  readonly draft: string;
  readonly disk: CopyDisk;
  readonly progress: CopyProgress;
  /** Names of data files that LMDB cannot open: they are copied byte by byte. */
  readonly unsound: ReadonlySet<string>;
  /** Given to every copy, whatever mark it has; undefined = the copies keep theirs. */
  readonly mark: ManagementMark | undefined;
}

export async function copyData(task: CopyTask): Promise<CopiedFile[]> {
  const { folder, mark } = task;
  const files: CopiedFile[] = [];
  for (const name of dataFilesIn(folder.path).filter((name) => !copiedLast.includes(name))) {
    files.push(await copyDataFile(task, name));
  }
  files.push(...(await copyScans(task)));
  if (existsSync(folder.managementFile)) files.push(await copyDataFile(task, 'management.mdb'));
  for (const name of otherFiles(folder.path)) {
    if (name !== journalMarkName || mark === undefined) files.push(await copyOther(task, name));
  }
  if (mark !== undefined) files.push(await writeMarkFile(task, mark));
  return files;
}

/** Of the journals. */
async function writeMarkFile(task: CopyTask, mark: ManagementMark): Promise<CopiedFile> {
  const { draft, disk, progress } = task;
  const path = join(draft, journalMarkName);
  disk.makeFolder(dirname(path));
  const file = await disk.create(path);
  try {
    await file.write(Buffer.from(journalMarkText(mark)));
    await file.sync();
  } finally {
    await file.close();
  }
  const copied = await hashOf(path);
  progress.add(copied.bytes);
  return done(task, { name: journalMarkName, ...copied });
}

/** What a copy will have to read, for its progress and the space that it needs. */
export function bytesToCopy({ path }: DataFolder): number {
  const names = [...dataFilesIn(path), ...otherFiles(path), ...segmentFiles(path)];
  return names.reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}

/** 0 when it was deleted since it was listed. */
const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const dataFilesIn = (path: string): string[] =>
  readdirSync(path).filter((name) => name.endsWith('.mdb'));

async function copyDataFile(task: CopyTask, name: string): Promise<CopiedFile> {
  const { folder, draft, progress, unsound, mark } = task;
  if (unsound.has(name)) return await copyOther(task, name);
  const to = join(draft, name);
  await copyEnvironment(join(folder.path, name), to, (bytes) => progress.add(bytes));
  if (mark !== undefined) await markCopy(to, name === 'management.mdb' ? mark : plainMark(mark));
  return done(task, { name, ...(await hashOf(to)) });
}

async function copyOther(task: CopyTask, name: string): Promise<CopiedFile> {
  const { folder, draft, disk, progress } = task;
  const copied = await copyFile(disk, join(folder.path, name), join(draft, name), (bytes) =>
    progress.add(bytes),
  );
  return done(task, { name, ...copied });
}

function done({ progress }: CopyTask, file: CopiedFile): CopiedFile {
  progress.file(file.name, file.bytes);
  return file;
}

/** Copies scans.mdb and the journals that continue it. */
async function copyScans(task: CopyTask): Promise<CopiedFile[]> {
  const { folder, draft, disk, unsound } = task;
  for (let attempt = 1; ; attempt++) {
    disk.remove(join(draft, 'journal'));
    disk.remove(join(draft, 'scans.mdb'));
    const journals = await HeldJournals.hold(folder.journalRoot);
    try {
      const scans = existsSync(folder.scansFile) ? [await copyDataFile(task, 'scans.mdb')] : [];
      const isReadable = scans.length > 0 && !unsound.has('scans.mdb');
      const counted = isReadable ? await countedIn(join(draft, 'scans.mdb')) : new Map();
      const copies = {
        disk,
        root: join(draft, 'journal'),
        onBytes: (bytes: number) => task.progress.add(bytes),
      };
      const segments = await journals.copy(copies, (no) => counted.get(no) ?? 0);
      if (segments !== undefined) {
        const named = segments.map((file) => ({ ...file, name: `journal/${file.name}` }));
        return [...scans, ...named.map((file) => done(task, file))];
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
  const environment = new StoreEnvironment(copy);
  try {
    return environment.hasTable('watermarks')
      ? lowestWatermarks({ watermarks: openWatermarks(environment) })
      : new Map();
  } finally {
    await environment.close();
  }
}

/** Files beside data files and journals: secrets, logos and other files of modules. */
function otherFiles(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (leftOut.test(entry.name) || isSegmentFolder(name) || name.endsWith('.mdb')) return [];
    if (entry.isDirectory()) return otherFiles(folder, name);
    return entry.isFile() ? [name] : [];
  });
}

const isSegmentFolder = (name: string): boolean => /^journal\/\d{1,4}$/.test(name);

function segmentFiles(folder: string): string[] {
  const root = join(folder, 'journal');
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.log'))
    .map((name) => `journal/${name}`);
}
