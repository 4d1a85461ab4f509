/** Reads the parts of a data folder and changes nothing. folder-faults.ts compares them. */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf, systemErrorCode } from '../../model/failure.ts';
import { journalFolder, listJournals, listSegments } from '../../engine/journal/segments.ts';
import { statsTable } from '../../store/delivery/delivery.ts';
import { resultFiles } from '../../store/delivery/result-journal.ts';
import { StoreEnvironment, type Table } from '../../store/environment.ts';
import {
  type ManagementMark,
  readKeyPrints,
  readManagementMark,
} from '../../store/installation.ts';
import { openMeta } from '../../store/open-environment.ts';
import { openCheckpoints, openWatermarks } from '../../store/scans/scans.ts';
import { type DataFolder, DataFolderError } from './data-folder.ts';
import { findDataFileFaults, type StartScope } from './data-files.ts';
import { parseJson, readIfThere, replaceFile } from '../../platform/small-files.ts';
import { type KeyFile, type KeyFileName, readKeyFile } from './key-files.ts';

/** Parts with the same mark as management.mdb. */
export type PeerName = 'scans.mdb' | 'delivery.mdb' | 'journal';
export const peerNames: readonly PeerName[] = ['scans.mdb', 'delivery.mdb', 'journal'];

export type PartName = 'management.mdb' | PeerName | KeyFileName;

export type PartState =
  | { readonly kind: 'missing' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'damaged'; readonly reason: string }
  | { readonly kind: 'unmarked'; readonly hasData: boolean }
  | {
      readonly kind: 'marked';
      readonly mark: ManagementMark;
      readonly keyPrints?: ReadonlyMap<string, string>;
    };

export interface FolderParts {
  readonly management: PartState;
  readonly mark: ManagementMark | undefined;
  readonly keyPrints: ReadonlyMap<string, string>;
  readonly peers: Readonly<Record<PeerName, PartState>>;
  readonly keyFiles: Readonly<Record<KeyFileName, KeyFile>>;
  readonly hasLeftovers: boolean;
}

const journalMarkFile = 'installation.json';
export const journalMarkName = `journal/${journalMarkFile}`;

/** Only for the process that has locked the folder: no mark changes. */
export async function readParts(folder: DataFolder, scope: StartScope): Promise<FolderParts> {
  const faults = findDataFileFaults(folder, scope);
  const damage: Damage = new Map(faults.map(({ file, text }) => [file, text]));
  const management = await readEnvironment(folder.managementFile, damage, hasMeta);
  const isMarked = management.kind === 'marked';
  return {
    management,
    mark: isMarked ? management.mark : undefined,
    keyPrints: (isMarked && management.keyPrints) || new Map(),
    peers: {
      'scans.mdb': await readEnvironment(folder.scansFile, damage, hasScans),
      'delivery.mdb': await readEnvironment(folder.deliveryFile, damage, hasDeliveries),
      journal: readJournal(folder.journalRoot),
    },
    keyFiles: {
      'signing-keys.json': readKeyFile(folder.path, 'signing-keys.json'),
      'visitor.key': readKeyFile(folder.path, 'visitor.key'),
    },
    hasLeftovers: resultFiles(folder.deliveryFile).some((path) => existsSync(path)),
  };
}

/** By file: a table that only this file has. */
const ownTables = {
  'management.mdb': 'workspaces',
  'scans.mdb': 'blocks',
  'delivery.mdb': statsTable,
};

type Damage = ReadonlyMap<string, string>;

async function readEnvironment(
  path: string,
  damage: Damage,
  hasData: (environment: StoreEnvironment) => boolean,
): Promise<PartState> {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { kind: 'missing' };
  if (stats.size === 0) return { kind: 'empty' };
  const reason = damage.get(path);
  assertMayOpen(path);
  if (reason !== undefined) return { kind: 'damaged', reason };
  let environment: StoreEnvironment | undefined;
  try {
    environment = new StoreEnvironment(path);
    assertNotSwapped(path, environment);
    assertMarks(environment);
    const mark = readManagementMark(environment);
    return mark === undefined
      ? { kind: 'unmarked', hasData: hasData(environment) }
      : { kind: 'marked', mark, keyPrints: readKeyPrints(environment) };
  } catch (error) {
    if (error instanceof DataFolderError) throw error;
    return { kind: 'damaged', reason: messageOf(error) };
  } finally {
    await environment?.close();
  }
}

/** Refuses a file that this user may not open: its data may be intact. @throws DataFolderError */
function assertMayOpen(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    const code = systemErrorCode(error);
    if (code !== 'EACCES' && code !== 'EPERM') return;
    const [file, folder] = [statSync(path).uid, dirname(path)];
    throw new DataFolderError(
      `Cannot open ${path}: it belongs to user ${file}, and this process runs as user ${process.geteuid?.()} (${code}). ` +
        `The data is intact: run \`chown -R --reference=${folder} ${folder}\``,
    );
  }
}

/** @throws DataFolderError if the file has the tables of another one: its version would be misread */
function assertNotSwapped(path: string, environment: StoreEnvironment): void {
  const name = basename(path);
  const kind = Object.entries(ownTables).find(([, table]) => environment.hasTable(table))?.[0];
  if (kind === undefined || kind === name) return;
  throw new DataFolderError(
    `Cannot open ${path}: it is a ${kind}, expected a ${name}: files were swapped; restore their names`,
  );
}

/** @throws Error if both copies of a sequence or a position are damaged */
function assertMarks(environment: StoreEnvironment): void {
  const refuse = (key: string | number): never => {
    throw new Error(`both copies of ${key} are damaged`);
  };
  const meta = metaOf(environment);
  const positions = environment.hasTable('watermarks')
    ? [openWatermarks(environment), openCheckpoints(environment)]
    : [];
  const tables: Array<Table<string | number, unknown> | undefined> = [meta, ...positions];
  for (const table of tables) Array.from(table?.range({}, refuse) ?? []);
}

function metaOf(environment: StoreEnvironment): Table<string, number> | undefined {
  return environment.hasTable('meta') ? openMeta(environment) : undefined;
}

const hasMeta = (environment: StoreEnvironment): boolean => environment.hasTable('meta');

const hasScans = (environment: StoreEnvironment): boolean =>
  (metaOf(environment)?.get('sequence', () => 1) ?? 0) > 0;

const hasDeliveries = (environment: StoreEnvironment): boolean =>
  environment.hasTable(statsTable) && environment.table(statsTable).count({ limit: 1 }) > 0;

function readJournal(root: string): PartState {
  if (!existsSync(root)) return { kind: 'missing' };
  const text = readIfThere(join(root, journalMarkFile));
  if (text !== undefined) {
    const mark = parseMark(String(text));
    return mark === undefined
      ? { kind: 'damaged', reason: `${journalMarkFile} cannot be read` }
      : { kind: 'marked', mark };
  }
  const hasData = listJournals(root).some(
    (journal) => listSegments(journalFolder(root, journal)).length > 0,
  );
  return { kind: 'unmarked', hasData };
}

export function writeJournalMark(root: string, mark: ManagementMark): void {
  replaceFile(join(root, journalMarkFile), `${JSON.stringify(mark)}\n`);
}

function parseMark(text: string): ManagementMark | undefined {
  const mark: Partial<ManagementMark> = Object(parseJson(text));
  const { id, run, token, previous = '', state = 'opened' } = mark;
  const isMark = typeof id === 'string' && typeof run === 'number' && typeof token === 'string';
  return isMark ? { id, run, token, previous, state } : undefined;
}
