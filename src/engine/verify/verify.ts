/**
 * `quietzone verify`: reads all data and says what is wrong with it, beside a running service or without one.
 *
 *   each store: pages, of a snapshot that is held -> every record by its checksum
 *     -> links against codes, numbers against what is in use, totals against their parts
 *   journals of scans, results of attempts
 *
 * It changes nothing. A store with a damaged page is not opened: LMDB could end the process on it. Beside a service,
 * what is read at two moments is looked at again before it is called different.
 * Memory: a few MiB, and a byte for each page. It yields every few milliseconds.
 */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { unpackCode } from '../../store/management/code-codec.ts';
import { deliveryVersion, openDeliveryTables } from '../../store/delivery/open-delivery.ts';
import { StoreEnvironment } from '../../store/environment.ts';
import { managementVersion, openManagement } from '../../store/management/management.ts';
import { type EnvironmentVersion, storedVersion } from '../../store/open-environment.ts';
import { walkSnapshot } from '../../store/snapshot-walk.ts';
import { openScanStore, type ScanStore, scansVersion } from '../../store/scans/scans.ts';
import { closeAll, type Closers } from '../closers.ts';
import type { DataFolder } from '../data-folder.ts';
import { dataFileFaultReason } from '../data-files.ts';
import { type Finding, Findings, restoreRemedy } from './findings.ts';
import { verifyJournals, verifyResults } from './journals.ts';
import { verifyLinks } from './links.ts';
import type { Pause } from './pause.ts';
import { verifyBlockSequence, verifySequences, verifyTotals } from './numbers.ts';

export interface VerifyOptions {
  /** How many bytes will be read, at the beginning. */
  readonly onBegin?: (bytes: number) => void;
  readonly onBytes?: (bytes: number) => void;
}

export interface VerifiedFile {
  readonly name: string;
  readonly bytes: number;
  readonly records: number;
  /** Written by an older release, without a checksum: only their form was looked at. */
  readonly unchecked: number;
}

export interface Verification {
  readonly files: readonly VerifiedFile[];
  readonly findings: readonly Finding[];
  /** Files with damaged pages: LMDB must not open them. */
  readonly unsound: readonly string[];
  /** What was not looked at, and why. */
  readonly notes: readonly string[];
}

/** @param folder may lack files: which ones must be there is compared elsewhere */
export async function verifyFolder(
  folder: DataFolder,
  { onBegin, onBytes }: VerifyOptions = {},
): Promise<Verification> {
  const verifier = new Verifier(folder, onBytes ?? (() => undefined));
  // Pages first, then records.
  onBegin?.(2 * verifier.bytes);
  return await verifier.run();
}

/** By table: what helps where a backup need not. */
const remedies: ReadonlyMap<string, string> = new Map([
  ['links', 'the next start rebuilds it from the codes: nothing to do'],
]);

/** A store's tables, opened for reading. */
interface OpenedStore {
  readonly environment: StoreEnvironment;
}

class Verifier {
  readonly #folder: DataFolder;
  readonly #findings = new Findings();
  readonly #files: VerifiedFile[] = [];
  readonly #notes: string[] = [];
  readonly #unsound: string[] = [];
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
    return [managementFile, scansFile, deliveryFile].reduce((sum, file) => sum + sizeOf(file), 0);
  }

  async run(): Promise<Verification> {
    const { managementFile, scansFile, deliveryFile } = this.#folder;
    const findings = this.#findings;
    try {
      const management = await this.#open(managementFile, managementVersion, openManagement);
      const scans = await this.#open(scansFile, scansVersion, openScanStore);
      await this.#open(deliveryFile, deliveryVersion, openDeliveryTables);
      if (management !== undefined) {
        await verifyLinks(management, findings, this.#pause);
        verifySequences(management, findings);
      }
      if (scans !== undefined) await this.#verifyScans(scans, management);
    } finally {
      await closeAll(this.#closers);
    }
    await verifyJournals(this.#folder, findings, this.#pause);
    await verifyResults(this.#folder, findings, this.#pause);
    return {
      files: this.#files,
      findings: findings.all,
      unsound: this.#unsound,
      notes: this.#notes,
    };
  }

  async #verifyScans(
    scans: ScanStore,
    management: ReturnType<typeof openManagement> | undefined,
  ): Promise<void> {
    verifyBlockSequence(scans, this.#findings);
    const isLive = (codeNo: number): boolean => {
      management?.environment.refresh();
      const code = management?.codes.get(codeNo, () => undefined);
      return code !== undefined && unpackCode(codeNo, code).deletedAtMs === undefined;
    };
    await verifyTotals(scans, isLive, this.#findings, this.#pause);
  }

  /** Verifies pages and records. @returns the store; undefined where it cannot be read on */
  async #open<S extends OpenedStore>(
    path: string,
    version: EnvironmentVersion,
    open: (path: string, mode: 'read') => S,
  ): Promise<S | undefined> {
    if (sizeOf(path) === 0 || !(await this.#verifyPages(path))) return undefined;
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
    const { faults } = walkSnapshot(path, { onProgress });
    for (const fault of faults) {
      const text = dataFileFaultReason(fault);
      this.#findings.add(basename(path), 'damaged pages', text, restoreRemedy);
    }
    if (faults.length > 0) this.#unsound.push(basename(path));
    await this.#pause();
    return faults.length === 0;
  }

  /** Records of another version are not read: what they say is not known. */
  async #isReadable(path: string, expected: EnvironmentVersion): Promise<boolean> {
    const environment = new StoreEnvironment(path, 'read');
    const name = basename(path);
    try {
      const found = storedVersion(environment, expected);
      // As an import leaves it: it has a mark, and no service has opened it.
      if (found === undefined) {
        this.#notes.push(`${name} is new: no service has written to it yet`);
        return true;
      }
      if (found > expected.version) {
        const text = `its data has version ${found}, this program reads ${expected.version}`;
        this.#findings.add(
          name,
          'versions',
          text,
          'use the Quietzone that wrote it, or a newer one',
        );
      } else if (found < expected.version) {
        this.#notes.push(
          `${name} is of an older release: its pages are sound, its records not read`,
        );
      }
      return found === expected.version;
    } finally {
      await environment.close();
    }
  }

  async #verifyRecords(environment: StoreEnvironment): Promise<void> {
    const name = basename(environment.path);
    let [records, unchecked] = [0, 0];
    for (const slice of environment.audit()) {
      records += slice.records;
      unchecked += slice.unchecked;
      if (slice.fault !== undefined) {
        const text = `the table ${slice.table} cannot be read to its end: ${slice.fault}`;
        this.#findings.add(name, 'tables', text, restoreRemedy);
      }
      await this.#pause(slice.bytes);
    }
    for (const { table, key } of environment.damage.places) {
      const text = `the record ${key} of the table ${table} is damaged`;
      this.#findings.add(name, 'damaged records', text, remedies.get(table) ?? restoreRemedy);
    }
    this.#files.push({ name, bytes: sizeOf(environment.path), records, unchecked });
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
