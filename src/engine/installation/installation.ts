/**
 * A data folder that knows itself: every part has a mark of the installation and of its last start, and a start
 * looks at all of them before it makes or changes anything (folder-parts.ts reads, folder-faults.ts compares).
 *
 *   first start   management.mdb {new} -> keys, their fingerprints -> scans.mdb, delivery.mdb, journal -> {opened}
 *   older data    management.mdb {adopting} -> marks, fingerprints -> {opened}
 *   start         management.mdb {opening} -> marks, fingerprints -> {opened}
 *
 * Each arrow is a flush, so that a start that is cut short leaves what the next one goes on with. A first start is
 * whole before anything listens; of another start the last step goes on beside the loading.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { RandomBytes } from '../../model/ids.ts';
import {
  beginSegment,
  journalFolder,
  listSegments,
  recoverJournal,
} from '../../scans/journal/segments.ts';
import { keepNewest } from '../../store/copied-file.ts';
import { type OpenMode, StoreEnvironment } from '../../store/environment.ts';
import {
  type InstallationState,
  type KeyPrint,
  type ManagementMark,
  type Mark,
  openInstallationTable,
  putKeyPrint,
  readKeyPrints,
  readManagementMark,
  writeMark,
} from '../../store/installation.ts';
import { highestWatermark, lowestWatermarks, openScanStore } from '../../store/scans/scans.ts';
import { makeSigningKeys } from '../../workspaces/signing-keys.ts';
import { type DataFolder, DataFolderError, makeFolder, makeSecret } from '../data-folder.ts';
import { syncFolder } from '../small-files.ts';
import { assertStoreSpace, type StartScope } from '../data-files.ts';
import { compareParts, type Fault, faultText, type FolderState } from './folder-faults.ts';
import {
  type FolderParts,
  type PeerName,
  peerNames,
  readParts,
  writeJournalMark,
} from './folder-parts.ts';
import {
  compareKeys,
  type KeyFileName,
  keyFileNames,
  readKeyFile,
  visitorKeyBytes,
  visitorKeyFile,
} from './key-files.ts';

const idBytes = 16;

export const folderRemedy =
  'restore a backup (`quietzone restore`); `quietzone repair` says what can be done without one';

/** The parts of the folder do not fit together; nothing was changed. */
export class FolderFaultsError extends DataFolderError {
  override readonly name = 'FolderFaultsError';
  readonly faults: readonly Fault[];

  constructor(action: string, folder: DataFolder, faults: readonly Fault[]) {
    const lines = faults.map((fault) => `  ${faultText(fault)}`);
    super(
      `Cannot ${action}: data folder ${folder.path} has faults\n${lines.join('\n')}\n` +
        `Nothing was changed. Put back what belongs there, or ${folderRemedy}`,
    );
    this.faults = faults;
  }
}

/** A data folder as it was found. */
export interface Inspection extends FolderState {
  readonly parts: FolderParts;
}

/** @throws DataFolderError where the disk is too full to open the stores */
export async function inspectFolder(
  folder: DataFolder,
  scope: StartScope = 'quick',
): Promise<Inspection> {
  assertStoreSpace(folder);
  const parts = await readParts(folder, scope);
  return { parts, ...compareParts(parts) };
}

/** No first start has begun or ended there. */
export const isUnfinished = ({ kind, parts }: Inspection): boolean =>
  kind === 'new' || parts.mark?.state === 'new';

/** @throws FolderFaultsError */
export function assertSound(action: string, folder: DataFolder, { faults }: Inspection): void {
  if (faults.length > 0) throw new FolderFaultsError(action, folder, faults);
}

/** For commands beside a running service, or without one: changes nothing. @throws DataFolderError */
export async function assertInstallation(action: string, folder: DataFolder): Promise<void> {
  const inspection = await inspectFolder(folder);
  assertSound(action, folder, inspection);
  assertFinished(action, folder, inspection);
}

/** @throws DataFolderError where a first start has not made all parts */
export function assertFinished(action: string, folder: DataFolder, inspection: Inspection): void {
  if (!isUnfinished(inspection)) return;
  throw new DataFolderError(
    `Cannot ${action}: the first start in data folder ${folder.path} is not finished, ` +
      'expected a service that has started',
  );
}

/** Called before each step of a first start or of a start's marking; a test stops there. */
export type OnStep = (step: string) => void;

export interface MakeOptions {
  readonly randomBytes: RandomBytes;
  readonly onStep?: OnStep;
}

/**
 * Makes what a first start makes. Only for the process that has locked the folder, after `assertSound`; a folder
 * that is whole is left as it is.
 */
export async function makeInstallation(
  folder: DataFolder,
  inspection: Inspection,
  options: MakeOptions,
): Promise<void> {
  if (inspection.kind === 'unmarked') return await makeMissing(folder, inspection, options);
  if (!isUnfinished(inspection)) return;
  const { onStep = noStep } = options;
  const mark = inspection.parts.mark ?? firstMark('new');
  onStep('management.mdb');
  await withEnvironment(folder.managementFile, 'create', async (management) => {
    await writeMark(management, mark);
    await management.flush();
    syncFolder(folder.path);
    for (const name of keyFileNames) {
      onStep(name);
      makeKeyFile(folder, name, options);
    }
    onStep('fingerprints');
    await writePrints(management, folder);
    for (const name of peerNames) {
      onStep(name);
      await makePeer(folder, name, plainMark(mark));
    }
    syncFolder(folder.path);
    onStep('opened');
    await writeMark(management, { ...mark, state: 'opened' });
    await management.flush();
  });
}

/**
 * The first step of `makeInstallation`: management.mdb with its mark. A start that is cut short after it goes on where it
 * was, also where a node of a cluster has waited for its keys meanwhile.
 */
export async function beginInstallation(folder: DataFolder): Promise<void> {
  await withEnvironment(folder.managementFile, 'create', async (management) => {
    await writeMark(management, firstMark('new'));
    await management.flush();
  });
  syncFolder(folder.path);
}

/** Data of an older release that has no codes: a first start may have been cut short. */
async function makeMissing(
  folder: DataFolder,
  { parts }: Inspection,
  options: MakeOptions,
): Promise<void> {
  for (const name of keyFileNames) {
    if (parts.keyFiles[name].kind === 'missing') makeKeyFile(folder, name, options);
  }
  for (const name of peerNames) {
    const { kind } = parts.peers[name];
    if (kind === 'missing' || kind === 'empty') await makePeer(folder, name, undefined);
  }
  await keepPositions(folder);
}

/** A backup of an older release has no segment of a journal that was counted to its end. */
export async function keepPositions({ scansFile, journalRoot }: DataFolder): Promise<void> {
  const scans = openScanStore(scansFile);
  try {
    for (const journal of lowestWatermarks(scans).keys()) {
      const path = journalFolder(journalRoot, journal);
      if (existsSync(path) && listSegments(path).length > 0) continue;
      const { position } = recoverJournal(path, highestWatermark(scans, journal));
      beginSegment(path, position);
    }
  } finally {
    await scans.environment.close();
  }
}

/**
 * Marks this start on all parts: two rounds of the disk. Before another handle of this process writes to the same
 * environments: a handle that waits for the writer's lock in this thread keeps another's transaction from ending.
 * @returns for `endMarking`
 */
export async function beginMarking(
  folder: DataFolder,
  management: StoreEnvironment,
  onStep: OnStep = noStep,
): Promise<ManagementMark> {
  const mark = nextMark(readManagementMark(management));
  onStep('management.mdb');
  await writeMark(management, mark);
  await management.flush();
  const marking = peerNames.map(async (name) => {
    onStep(name);
    await writePeerMark(folder, name, plainMark(mark), 'existing');
  });
  // Whatever fails, none is under way any more.
  for (const done of await Promise.allSettled(marking)) {
    if (done.status === 'rejected') throw done.reason;
  }
  return mark;
}

/** May go on beside the loading. @returns keys that were taken out of the key files or added since, for the log */
export async function endMarking(
  folder: DataFolder,
  management: StoreEnvironment,
  mark: ManagementMark,
  onStep: OnStep = noStep,
): Promise<KeyDifference> {
  onStep('fingerprints');
  const difference = await writePrints(management, folder);
  onStep('opened');
  await writeMark(management, { ...mark, state: 'opened' });
  return difference;
}

function nextMark(mark: ManagementMark | undefined): ManagementMark {
  if (mark === undefined) return firstMark('adopting');
  if (mark.state !== 'opened') return mark;
  const { id, run, token } = mark;
  return { id, run: run + 1, token: newToken(), previous: token, state: 'opening' };
}

/** Before the parts are marked, where management.mdb has no mark. */
export async function writeManagementMark(folder: DataFolder, mark: ManagementMark): Promise<void> {
  await withEnvironment(folder.managementFile, 'existing', async (management) => {
    await writeMark(management, mark);
    await management.flush();
  });
}

/** Once every part has the mark: the last step of a repair. */
export async function finishMarking(folder: DataFolder, mark: ManagementMark): Promise<void> {
  await withEnvironment(folder.managementFile, 'existing', async (management) => {
    await endMarking(folder, management, mark);
    await management.flush();
  });
}

/**
 * One mark for all copies of a backup, whatever theirs are: a start between two copies leaves no trace, and copies
 * of two backups do not fit together. Undefined for data without marks.
 */
export function backupMark({ parts: { mark } }: Inspection): ManagementMark | undefined {
  return mark && { ...mark, token: newToken(), previous: '', state: 'opened' };
}

/** What the parts beside management.mdb have of it. */
export const plainMark = ({ id, run, token }: ManagementMark): Mark => ({ id, run, token });

/** @param path of a copied data file */
export async function markCopy(path: string, mark: Mark | ManagementMark): Promise<void> {
  await withEnvironment(path, 'existing', async (environment) => {
    await writeMark(environment, mark);
    await environment.flush();
  });
  await keepNewest(path);
}

const firstMark = (state: InstallationState): ManagementMark => ({
  id: newToken(),
  run: 1,
  token: newToken(),
  previous: '',
  state,
});

export const newToken = (): string => randomBytes(idBytes).toString('base64url');
const noStep: OnStep = () => undefined;

export function makeKeyFile(
  folder: DataFolder,
  name: KeyFileName,
  { randomBytes: random }: MakeOptions,
) {
  if (name === visitorKeyFile) makeSecret(folder, name, visitorKeyBytes);
  else makeSigningKeys(folder.path, random);
}

/** Makes a part where it is missing. @param mark undefined = it gets none yet */
export async function makePeer(
  folder: DataFolder,
  name: PeerName,
  mark: Mark | undefined,
): Promise<void> {
  if (name === 'journal') makeFolder(folder.journalRoot);
  await writePeerMark(folder, name, mark, 'create');
}

async function writePeerMark(
  folder: DataFolder,
  name: PeerName,
  mark: Mark | undefined,
  mode: OpenMode,
): Promise<void> {
  if (name === 'journal') {
    if (mark !== undefined) writeJournalMark(folder.journalRoot, mark);
    return;
  }
  await withEnvironment(peerFile(folder, name), mode, async (environment) => {
    if (mark !== undefined) {
      await writeMark(environment, mark);
    }
    await environment.flush();
  });
}

const peerFile = (folder: DataFolder, name: Exclude<PeerName, 'journal'>): string =>
  name === 'scans.mdb' ? folder.scansFile : folder.deliveryFile;

/** Writes down the keys of the key files as they are. @returns what differs from what was known */
async function writePrints(
  management: StoreEnvironment,
  folder: DataFolder,
): Promise<KeyDifference> {
  const known = readKeyPrints(management);
  const rows = new Map<string, KeyPrint>();
  const difference: Record<keyof KeyDifference, string[]> = { added: [], removed: [] };
  for (const name of keyFileNames) {
    const file = readKeyFile(folder.path, name);
    if (file.kind !== 'present') continue;
    const { added, changed, removed } = compareKeys(name, file.prints, known);
    for (const key of [...added, ...changed]) {
      rows.set(key, { print: file.prints.get(key) ?? '', isRemoved: false });
    }
    for (const key of removed) {
      rows.set(key, { print: known.get(key)?.print ?? '', isRemoved: true });
    }
    if (known.size > 0) difference.added.push(...added, ...changed);
    difference.removed.push(...removed);
  }
  if (rows.size === 0) return difference;
  const table = openInstallationTable(management);
  await management.transaction(() => {
    for (const [key, print] of rows) putKeyPrint(table, key, print);
  });
  await management.flush();
  return difference;
}

/** Keys by name, `signing-keys.json/<kid>`. */
export interface KeyDifference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

async function withEnvironment(
  path: string,
  mode: OpenMode,
  work: (environment: StoreEnvironment) => Promise<void>,
): Promise<void> {
  const environment = new StoreEnvironment(path, mode);
  try {
    await work(environment);
  } finally {
    await environment.close();
  }
}
