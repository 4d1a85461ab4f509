/**
 * The geo data of a service: the bundled table, and the one that was made of an operator's files before, are opened at once.
 * Where files are new, or have changed, a thread of its own hashes them, and makes the table that is not there yet, while
 * redirects run already; scans wait in the journals until it is there.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../model/clock.ts';
import type { TableSetup } from '../scans/visitor/geo/table.worker.ts';
import {
  checkFiles,
  findFiles,
  type GeoFiles,
  geoNames,
  type MadeTable,
  reasonOf,
} from '../scans/visitor/geo/table-file.ts';
import {
  checkTable,
  closeTable,
  openTable,
  type OpenTable,
  tableInMemory,
} from '../scans/visitor/geo/table-units.ts';
import { shipped } from '../shipped.ts';
import type { HealthCheck } from '../telemetry/health.ts';
import type { Logger } from '../telemetry/log.ts';
import { threadStart } from '../workers/thread-sources.ts';
import { findKnownTable, rememberTable, stateOfFiles } from './known-table.ts';

/** A table of the bundled files takes 9 s of a core. After this time counting begins, with unknown places. */
const makingMsMax = 180_000;

/** Takes 40 MB less so than with V8's own, and no more time. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 };

export interface GeoOptions {
  readonly clock: Clock;
  /** Names each file that cannot be used. */
  readonly log: Logger;
}

export class GeoOpening {
  /** Never rejects. Undefined: every place is unknown. */
  readonly table: Promise<OpenTable | undefined>;
  #isReady: boolean;
  readonly #options: GeoOptions;
  readonly #stop = new AbortController();

  /** @param cacheFolder of the data folder */
  constructor(files: GeoFiles, cacheFolder: string, options: GeoOptions) {
    this.#options = options;
    const folder = tableFolder(files, cacheFolder);
    const ready = openReady(files, folder);
    this.#isReady = ready !== undefined;
    this.table = ready ? Promise.resolve(ready.table) : this.#open(files, folder);
  }

  /** False while a table is looked for, or made. */
  get isReady(): boolean {
    return this.#isReady;
  }

  get check(): HealthCheck {
    const problem = 'the table of places is being made, scans are counted when it is there';
    return {
      name: 'places',
      problem: () => (this.isReady ? undefined : problem),
      isWarning: true,
    };
  }

  /** When no thread looks anything up any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    const table = await this.table;
    if (table !== undefined) closeTable(table);
  }

  async #open(files: GeoFiles, folder: string): Promise<OpenTable | undefined> {
    const { clock, log } = this.#options;
    const startedMs = clock.monotonicMs();
    log.info('geo files are new or changed: scans are counted when the table of places is there');
    const { found, warnings } = findFiles(files);
    for (const warning of warnings) log.warn(warning);
    const readMs = clock.now();
    const state = stateOfFiles(found);
    const { table, path } = await this.#make({ files: found, folder });
    if (path !== undefined && state !== undefined) rememberTable(path, state, readMs, folder);
    const tookMs = Math.round(clock.monotonicMs() - startedMs);
    if (table !== undefined) log.info({ tookMs }, 'the table of places is there');
    this.#isReady = true;
    return table;
  }

  /** The table, and its path where it is kept, and made of all these files. */
  async #make(setup: TableSetup): Promise<{ table?: OpenTable; path?: string }> {
    const { log } = this.#options;
    const start = threadStart(shipped.workerFile('geo'));
    const worker = new Worker(start.file, { workerData: setup, argv: start.argv, resourceLimits });
    const { signal } = this.#stop;
    try {
      const made = await Promise.race([
        once(worker, 'message', { signal }).then(([message]: MadeTable[]) => message!),
        pause(makingMsMax, undefined, { signal, ref: false }),
      ]);
      if (made === undefined) throw new Error(`it took over ${makingMsMax / 1_000} s`);
      const { table, warnings } = made;
      for (const warning of warnings) log.warn(warning);
      if (table === undefined) return {};
      if (typeof table !== 'string') return { table: tableInMemory(table) };
      const open = openTable({ path: table });
      return warnings.length > 0 ? { table: open } : { table: open, path: table };
    } catch (error) {
      const reason = reasonOf(error);
      if (!signal.aborted) {
        log.warn(`Cannot make the table of places: ${reason}; places are unknown`);
      }
      return {};
    } finally {
      await worker.terminate();
    }
  }
}

/** What is made of the packages is of use to every service of this checkout. */
const tableFolder = (files: GeoFiles, cacheFolder: string): string =>
  (isBundled(files) ? shipped.geoCache : undefined) ?? join(cacheFolder, 'geo');

/** Opens what is there already; undefined where a table has to be looked for, or made. */
function openReady(
  files: GeoFiles,
  folder: string,
): { readonly table: OpenTable | undefined } | undefined {
  if (isNone(files)) return { table: undefined };
  const table = (isBundled(files) ? openBundled() : undefined) ?? openKnown(files, folder);
  return table && { table };
}

/** Of files that are as they were when their table was made. */
function openKnown(files: GeoFiles, folder: string): OpenTable | undefined {
  const { found, warnings } = findFiles(files);
  const state = warnings.length === 0 ? stateOfFiles(found) : undefined;
  const table = state && findKnownTable(state, folder);
  if (table === undefined) return undefined;
  try {
    return openTable({ path: table });
  } catch {
    return undefined;
  }
}

/** Undefined where it was not made, or is damaged: then one is made of the packages' files. */
function openBundled(): OpenTable | undefined {
  const part = shipped.geoTable();
  try {
    return part && openTable(part);
  } catch {
    return undefined;
  }
}

/** Whether a start counts at once: it need not hash files or make a table. */
export function isGeoReady(files: GeoFiles, cacheFolder: string): boolean {
  const ready = openReady(files, tableFolder(files, cacheFolder));
  if (ready?.table !== undefined) closeTable(ready.table);
  return ready !== undefined;
}

/** Reads the table or the files that a service would use, and makes nothing. @returns a sentence for each that cannot be used */
export function checkGeo(files: GeoFiles): string[] {
  const part = isBundled(files) ? shipped.geoTable() : undefined;
  if (part === undefined) return checkFiles(files);
  try {
    checkTable(part);
    return [];
  } catch (error) {
    return [`Cannot use the bundled table of places: ${reasonOf(error)}; install Quietzone again`];
  }
}

const isBundled = (files: GeoFiles): boolean => geoNames.every((name) => files[name] === 'bundled');
const isNone = (files: GeoFiles): boolean => geoNames.every((name) => files[name] === '');
