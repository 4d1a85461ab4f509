/**
 * `quietzone verify`: reads all data and reports faults. A service may run.
 *
 *   each store: pages of a snapshot -> every record by its checksum
 *     -> links against codes, totals against their parts
 *   journals of scans, results of attempts
 *
 * Read-only. It does not open a store with a damaged page, because LMDB could end the process. Memory: a byte for each
 * page.
 */
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { systemErrorCode } from '../../../model/failure.ts';
import { JournalReader } from '../../../engine/journal/reader.ts';
import {
  journalFolder,
  listJournals,
  listSegments,
  segmentFile,
  soundEnd,
} from '../../../engine/journal/segments.ts';
import { walkSnapshot } from '../../../store/data-file/walk.ts';
import { deliveryVersion, openDeliveryTables } from '../../../store/delivery/delivery.ts';
import { damagedLines, resultFiles } from '../../../store/delivery/result-journal.ts';
import { type StoreEnvironment, withEnvironment } from '../../../store/environment.ts';
import { unpackCode } from '../../../store/management/code-codec.ts';
import { managementVersion, openManagement } from '../../../store/management/management.ts';
import { type EnvironmentVersion, storedVersion } from '../../../store/open-environment.ts';
import {
  highestWatermark,
  lowestWatermarks,
  openScanStore,
  type ScanStore,
  scansVersion,
} from '../../../store/scans/scans.ts';
import { closeAll, type Closers } from '../../../platform/closers.ts';
import { bytesOf } from '../data-files.ts';
import type { DataFolder } from '../data-folder.ts';
import { remedyFor } from '../folder-faults.ts';
import { inspectFolder } from '../installation.ts';
import { verifyLinks, verifyTotals } from './agreement.ts';
import { type Finding, Findings, type Pause, restoreRemedy } from './findings.ts';

const pieceBytes = 1_048_576;
/** A half-written line looks damaged. */
const readsMax = 3;
const framesKind = 'damaged frames';
const journalRemedy = 'no action needed: the next start counts all intact scans and logs the loss';
const resultRemedy = 'no action needed: the next start sends these deliveries again';

export interface VerifyProgress {
  /** Called with the number of bytes to read. */
  begin(bytes: number): void;
  add(bytes: number): void;
}

const noProgress: VerifyProgress = { begin: () => undefined, add: () => undefined };

export interface VerifiedFile {
  readonly name: string;
  readonly bytes: number;
  readonly records: number;
}

export interface Verification {
  readonly files: readonly VerifiedFile[];
  readonly findings: readonly Finding[];
  readonly notes: readonly string[];
}

/** @param folder may lack files: `partFindings` reports them */
export async function verifyFolder(
  folder: DataFolder,
  progress = noProgress,
): Promise<Verification> {
  const verifier = new Verifier(folder, (bytes) => progress.add(bytes));
  progress.begin(2 * verifier.bytes);
  return await verifier.run();
}

/** The same, and whether the parts fit together. @throws DataFolderError if the disk is too full to open stores */
export async function verifyWhole(
  folder: DataFolder,
  progress?: VerifyProgress,
): Promise<Verification> {
  const verified = await verifyFolder(folder, progress);
  const parts = await partFindings(folder, verified.findings);
  return { ...verified, findings: [...verified.findings, ...parts] };
}

/** Remedies without a backup, by table. */
const twinRemedy = 'no action needed: the other copy is used, unless that is listed too';
const remedies: ReadonlyMap<string, string> = new Map([
  ['links', 'no action needed: the next start rebuilds it from the codes'],
  ...['meta', 'watermarks', 'checkpoints'].flatMap((name) =>
    [name, `${name}_copy`].map((table) => [table, twinRemedy] as const),
  ),
]);

class Verifier {
  readonly #folder: DataFolder;
  readonly #findings = new Findings();
  readonly #files: VerifiedFile[] = [];
  readonly #notes: string[] = [];
  readonly #closers: Closers = [];
  readonly #onBytes: (bytes: number) => void;

  constructor(folder: DataFolder, onBytes: (bytes: number) => void) {
    this.#folder = folder;
    this.#onBytes = onBytes;
  }

  readonly #pause: Pause = async (bytes = 0) => {
    this.#onBytes(bytes);
    await yieldToEventLoop();
  };

  get bytes(): number {
    const { managementFile, scansFile, deliveryFile } = this.#folder;
    return [managementFile, scansFile, deliveryFile].reduce((sum, file) => sum + bytesOf(file), 0);
  }

  async run(): Promise<Verification> {
    const { managementFile, scansFile, deliveryFile } = this.#folder;
    const findings = this.#findings;
    try {
      const management = await this.#open(managementFile, managementVersion, openManagement);
      const scans = await this.#open(scansFile, scansVersion, openScanStore);
      await this.#open(deliveryFile, deliveryVersion, openDeliveryTables);
      if (management !== undefined) await verifyLinks(management, findings, this.#pause);
      if (scans !== undefined) await this.#verifyScans(scans, management);
    } finally {
      await closeAll(this.#closers);
    }
    await verifyJournals(this.#folder, findings, this.#pause);
    await verifyResults(this.#folder, findings, this.#pause);
    return {
      files: this.#files,
      findings: findings.all,
      notes: this.#notes,
    };
  }

  async #verifyScans(
    scans: ScanStore,
    management: ReturnType<typeof openManagement> | undefined,
  ): Promise<void> {
    const isLive = (codeNo: number): boolean => {
      management?.environment.refresh();
      const code = management?.codes.get(codeNo, () => undefined);
      return code !== undefined && unpackCode(codeNo, code).deletedAtMs === undefined;
    };
    await verifyTotals(scans, isLive, this.#findings, this.#pause);
  }

  /** Verifies pages and records. @returns undefined if other checks cannot read the store */
  async #open<S extends { readonly environment: StoreEnvironment }>(
    path: string,
    version: EnvironmentVersion,
    open: (path: string, mode: 'read') => S,
  ): Promise<S | undefined> {
    if (bytesOf(path) === 0 || !(await this.#verifyPages(path))) return undefined;
    if (!(await this.#isReadable(path, version))) return undefined;
    const store = open(path, 'read');
    this.#closers.push(() => store.environment.close());
    await this.#verifyRecords(store.environment);
    return store;
  }

  async #verifyPages(path: string): Promise<boolean> {
    let read = 0;
    const onProgress = (bytesRead: number): void => {
      this.#onBytes(bytesRead - read);
      read = bytesRead;
    };
    const { fault } = walkSnapshot(path, { onProgress });
    if (fault !== undefined) {
      this.#findings.add(basename(path), 'damaged pages', fault.text, restoreRemedy);
    }
    await this.#pause();
    return fault === undefined;
  }

  /** False for another version: its format is unknown. */
  async #isReadable(path: string, expected: EnvironmentVersion): Promise<boolean> {
    const found = await withEnvironment(path, 'read', storedVersion);
    const name = basename(path);
    // An import has marked it, and no service has opened it yet.
    if (found === undefined) this.#notes.push(`${name} is new: a service has not used it yet`);
    if (found === undefined || found === expected.version) return true;
    const text = `its data has version ${found}, this program reads ${expected.version}`;
    this.#findings.add(name, 'versions', text, 'use the Quietzone that wrote it');
    return false;
  }

  async #verifyRecords(environment: StoreEnvironment): Promise<void> {
    const name = basename(environment.path);
    let records = 0;
    for (const slice of environment.audit()) {
      records += slice.records;
      if (slice.fault !== undefined) {
        const text = `the table ${slice.table} cannot be read to its end: ${slice.fault}`;
        this.#findings.add(name, 'tables', text, restoreRemedy);
      }
      await this.#pause(slice.bytes);
    }
    for (const { table, key } of environment.damage.records) {
      const text = `the record ${key} of the table ${table} is damaged`;
      this.#findings.add(name, 'damaged records', text, remedies.get(table) ?? restoreRemedy);
    }
    this.#files.push({ name, bytes: bytesOf(environment.path), records });
  }
}

/** A half-written frame is not damage. A running service may delete segments during the read. */
async function verifyJournals(
  { journalRoot }: DataFolder,
  findings: Findings,
  pause: Pause,
): Promise<void> {
  if (!existsSync(journalRoot)) return;
  for (const journal of listJournals(journalRoot)) {
    const folder = journalFolder(journalRoot, journal);
    const reader = new JournalReader(folder, pieceBytes);
    try {
      for (const { start, end } of segmentsOf(folder)) {
        for (let at = start; at < end;) {
          const next = reader.read(at, end, () => undefined);
          await pause(next - at);
          if (next === at) break;
          at = next;
        }
      }
    } catch (error) {
      // The service has counted and deleted it in the meantime.
      if (systemErrorCode(error) !== 'ENOENT') throw error;
    } finally {
      reader.close();
    }
    const { damagedScans, damagedBytes } = reader;
    if (damagedScans + damagedBytes === 0) continue;
    const text = `${damagedScans} scans in damaged frames, and ${damagedBytes} bytes outside frames`;
    findings.add(`journal/${journal}`, framesKind, text, journalRemedy);
  }
}

/** The range of each segment; the newest ends with its last intact frame. */
function segmentsOf(folder: string): Array<{ start: number; end: number }> {
  const starts = listSegments(folder);
  return starts.map((start, index) => {
    const file = segmentFile(folder, start);
    const next = starts[index + 1];
    // After a refused write, the bytes beyond the segment's end were written again in the next one.
    const end = next === undefined ? start + soundEnd(file) : Math.min(next, start + bytesOf(file));
    return { start, end };
  });
}

async function verifyResults(
  { deliveryFile }: DataFolder,
  findings: Findings,
  pause: Pause,
): Promise<void> {
  for (const file of resultFiles(deliveryFile)) {
    let damaged = 0;
    for (let read = 0; read < readsMax; read++) {
      damaged = existsSync(file) ? damagedLines(readFileSync(file, 'utf8')) : 0;
      if (damaged === 0) break;
      await pause(0);
    }
    if (damaged > 0)
      findings.add(basename(file), framesKind, `${damaged} damaged lines`, resultRemedy);
  }
}

/** Faults that a start would refuse, or report as a loss.
 * @param found its damaged files are not listed again
 * @throws DataFolderError if the disk is too full to open stores
 */
async function partFindings(folder: DataFolder, found: readonly Finding[]): Promise<Finding[]> {
  const { faults, mark } = await inspectFolder(folder);
  const known = new Set(found.map(({ file }) => file));
  if (mark !== undefined && faults.length === 0 && !known.has('scans.mdb')) {
    return await lostSegments(folder);
  }
  return faults
    .filter((fault) => !(known.has(fault.part) && fault.isDamaged))
    .map((fault) => ({
      file: fault.part,
      text: fault.found,
      remedy: `put back the right file, or ${remedyFor([fault])}`,
    }));
}

async function lostSegments({ scansFile, journalRoot }: DataFolder): Promise<Finding[]> {
  const scans = openScanStore(scansFile, 'read');
  try {
    return [...lowestWatermarks(scans).keys()].flatMap((journal) => {
      // Before the end of the journal: a running service writes.
      const countedTo = highestWatermark(scans, journal);
      const end = endOf(journalFolder(journalRoot, journal));
      if (end >= countedTo) return [];
      const text = `its newest segment is missing: it ends at ${end}, counted to ${countedTo}`;
      const remedy = 'its uncounted scans are lost; the next start continues after it';
      return [{ file: `journal/${journal}`, text, remedy }];
    });
  } finally {
    await scans.environment.close();
  }
}

function endOf(folder: string): number {
  const newest = existsSync(folder) ? listSegments(folder).at(-1) : undefined;
  return newest === undefined ? 0 : newest + soundEnd(segmentFile(folder, newest));
}
