/**
 * `quietzone repair`: makes a data folder whole where no backup is left, at a price that is said first.
 *
 *   a part that is missing, empty, damaged, of another installation, without a mark    set aside, begun anew
 *   a part that is older or newer than the others                                      kept
 *   management.mdb, unless it is an older copy                                         not repairable: restore
 *
 * In the end every part has one new mark. What is bad is set aside under a name of its own, never deleted: that is
 * the way back. Numbers go on above everything that the other parts have seen (numbers.ts), with the next start.
 *
 *   management.mdb {adopting}, where it has no mark -> peers, each made and then marked -> keys -> management.mdb {opened}
 *
 * A repair that ends anywhere before the last step leaves faults that the next one finds and repairs.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isoTime } from '../../model/day.ts';
import type { RandomBytes } from '../../model/ids.ts';
import { openDeliveryTables } from '../../store/delivery/open-delivery.ts';
import { resultFiles } from '../../store/delivery/result-journal.ts';
import type { ManagementMark } from '../../store/installation.ts';
import { openManagement } from '../../store/management/management.ts';
import { newestSequence, openScanStore } from '../../store/scans/scans.ts';
import { type DataFolder, DataFolderError } from '../data-folder.ts';
import { syncFolder } from '../small-files.ts';
import type { Fault } from './folder-faults.ts';
import { type PartName, type PeerName, peerNames } from './folder-parts.ts';
import {
  finishMarking,
  type Inspection,
  keepPositions,
  makeKeyFile,
  makePeer,
  newToken,
  type OnStep,
  plainMark,
  writeManagementMark,
} from './installation.ts';
import { keyFileNames } from './key-files.ts';

/** What is lost with a part that is begun anew. */
const lostWith: Readonly<Record<Exclude<PartName, 'management.mdb'>, string>> = {
  'scans.mdb':
    'all statistics: totals, days, visitors and single scans, and how many scans a limited code has had; ' +
    'codes and links stay, and the scans that are still in the journals are counted',
  'delivery.mdb':
    'webhook deliveries that wait for a retry, dead letters and delivery logs; ' +
    'events that were not sent yet are not sent',
  journal: 'answered scans that were not counted yet',
  'signing-keys.json':
    'all API keys and the secrets of webhook endpoints: make keys with `quietzone keys create`, ' +
    'and give each endpoint a new secret',
  'visitor.key': 'the link between visitors before and after: visitors are counted anew from today',
};

const keptText = (part: PartName): string =>
  `what happened between this copy and the others${part === 'management.mdb' ? ': codes, changes and keys made since' : ''}`;

export interface RepairStep extends Fault {
  /** What repairing it costs, or why it cannot be repaired; in words. */
  readonly text: string;
}

/** What a repair would do about each fault. */
export function planRepair({ faults }: Inspection): RepairStep[] {
  return faults.map((fault) => ({ ...fault, text: stepText(fault) }));
}

function stepText({ part, remedy }: Fault): string {
  if (part === 'management.mdb' && remedy !== 'keep') {
    return 'cannot be repaired, it has the codes, links, people and keys: restore a backup (`quietzone restore`)';
  }
  if (part === 'management.mdb' || remedy === 'keep') {
    return `is kept as it is; given up: ${keptText(part)}`;
  }
  return `is begun anew; given up: ${lostWith[part]}`;
}

export const isRepairable = (steps: readonly RepairStep[]): boolean =>
  steps.every(({ remedy }) => remedy !== 'restore');

export interface RepairOptions {
  readonly nowMs: number;
  readonly randomBytes: RandomBytes;
  readonly onStep?: OnStep;
}

/**
 * Only for the process that has locked the folder.
 * @returns names of what was set aside
 * @throws DataFolderError where a part cannot be repaired; then nothing was changed
 */
export async function repair(
  folder: DataFolder,
  inspection: Inspection,
  options: RepairOptions,
): Promise<string[]> {
  if (!isRepairable(planRepair(inspection))) {
    throw new DataFolderError(`Cannot repair ${folder.path}: management.mdb is lost`);
  }
  const { onStep = () => undefined } = options;
  const mark = nextMark(inspection);
  const setAside = new SetAside(folder, options.nowMs);
  if (inspection.parts.mark === undefined) {
    onStep('management.mdb');
    await writeManagementMark(folder, { ...mark, state: 'adopting' });
  }
  const isLost = (part: PartName): boolean =>
    inspection.faults.some((fault) => fault.part === part && fault.remedy === 'anew');
  for (const name of peerNames) {
    onStep(name);
    if (isLost(name)) await beginAnew(folder, name, setAside);
    onStep(`${name}, marked`);
    await makePeer(folder, name, plainMark(mark));
  }
  await keepPositions(folder);
  for (const name of keyFileNames) {
    onStep(name);
    if (isLost(name)) setAside.move(name);
    if (!existsSync(join(folder.path, name))) makeKeyFile(folder, name, options);
  }
  syncFolder(folder.path);
  onStep('opened');
  await finishMarking(folder, mark);
  return setAside.names;
}

/** Above all that is known; a mark of an unmarked folder is its first. */
function nextMark({ parts }: Inspection): ManagementMark {
  const marks = peerNames.flatMap((name) => {
    const peer = parts.peers[name];
    return peer.kind === 'marked' && peer.mark.id === parts.mark?.id ? [peer.mark.run] : [];
  });
  const run = Math.max(parts.mark?.run ?? 0, ...marks) + 1;
  const id = parts.mark?.id ?? newToken();
  return { id, run, token: newToken(), previous: '', state: 'opened' };
}

async function beginAnew(folder: DataFolder, name: PeerName, setAside: SetAside): Promise<void> {
  setAside.move(name);
  if (name === 'scans.mdb') await openScanStore(folder.scansFile, 'create').environment.close();
  if (name !== 'delivery.mdb') return;
  // Results of attempts name deliveries that the new file does not have.
  for (const file of resultFiles(folder.deliveryFile)) setAside.move(basename(file));
  await beginDeliveries(folder);
}

/** Nothing is sent twice: deliveries are made of what happens from now on. */
async function beginDeliveries(folder: DataFolder): Promise<void> {
  const management = openManagement(folder.managementFile);
  const scans = openScanStore(folder.scansFile, 'create');
  const { environment, positions } = openDeliveryTables(folder.deliveryFile, 'create');
  try {
    environment.transactionSync(() => {
      positions.put('events', [management.last('event'), 0]);
      positions.put('scans', [newestSequence(scans), 0]);
    });
  } finally {
    await environment.close();
    await scans.environment.close();
    await management.close();
  }
}

/** Renames what is bad: `scans.mdb` becomes `scans.mdb.set-aside-20261122T094200123Z`. */
class SetAside {
  readonly #folder: DataFolder;
  readonly #suffix: string;
  readonly names: string[] = [];

  constructor(folder: DataFolder, nowMs: number) {
    this.#folder = folder;
    this.#suffix = `.set-aside-${isoTime(nowMs).replaceAll(/[^\dTZ]/g, '')}`;
  }

  move(name: string): void {
    const path = join(this.#folder.path, name);
    rmSync(`${path}-lock`, { force: true });
    if (!existsSync(path)) return;
    renameSync(path, `${path}${this.#suffix}`);
    this.names.push(`${name}${this.#suffix}`);
  }
}
