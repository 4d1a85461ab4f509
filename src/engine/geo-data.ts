/**
 * The geo data of a service: the bundled table is opened at once. Of an operator's files a table is made where there is
 * none yet, by a thread of its own, while redirects run already; scans wait in the journals until it is there.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { GeoData } from '../scans/visitor/geo/geo.ts';
import type { TableSetup } from '../scans/visitor/geo/table.worker.ts';
import {
  checkFiles,
  type GeoFiles,
  geoNames,
  type KeptTable,
  reasonOf,
  partsOf,
} from '../scans/visitor/geo/table-file.ts';
import {
  checkTable,
  closeTable,
  openTable,
  type TableData,
  tableInMemory,
} from '../scans/visitor/geo/table-units.ts';
import { shipped } from '../shipped.ts';
import { threadStart } from '../workers/thread-sources.ts';

/** A table of the bundled files takes 9 s of a core. After this time counting begins, with unknown places. */
const makingMsMax = 180_000;

/** Takes 40 MB less so than with V8's own, and no more time. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 };

export class GeoOpening {
  /** Never rejects: files that cannot be used become warnings. */
  readonly data: Promise<GeoData>;
  /** False while a table is made, or is found. */
  readonly isReady: boolean;
  readonly #stop = new AbortController();

  /** @param cacheFolder of the data folder */
  constructor(files: GeoFiles, cacheFolder: string) {
    const isNone = geoNames.every((name) => files[name] === '');
    const bundled = isBundled(files) ? openBundled() : undefined;
    this.isReady = isNone || bundled !== undefined;
    // What is made of the packages is of use to every service of this checkout.
    const folder = (isBundled(files) ? shipped.geoCache : undefined) ?? join(cacheFolder, 'geo');
    this.data = this.isReady
      ? Promise.resolve({ table: bundled, warnings: [] })
      : this.#open({ ...partsOf(files), folder });
  }

  /** When no thread looks anything up any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    const { table } = await this.data;
    if (table !== undefined) closeTable(table);
  }

  async #open({ warnings, ...setup }: TableSetup & Pick<GeoData, 'warnings'>): Promise<GeoData> {
    const made = await this.#make(setup);
    return tableOf({ ...made, warnings: [...warnings, ...made.warnings] });
  }

  async #make(setup: TableSetup): Promise<KeptTable> {
    const start = threadStart(shipped.workerFile('geo'));
    const worker = new Worker(start.file, { workerData: setup, argv: start.argv, resourceLimits });
    const { signal } = this.#stop;
    const failed = (reason: string): KeptTable => ({
      table: undefined,
      warnings: [`Cannot make the table of places: ${reason}; places are unknown`],
    });
    try {
      return await Promise.race([
        once(worker, 'message', { signal }).then(([made]: KeptTable[]) => made!),
        pause(makingMsMax, failed(`it took over ${makingMsMax / 1_000} s`), { signal, ref: false }),
      ]);
    } catch (error) {
      return signal.aborted ? { table: undefined, warnings: [] } : failed(reasonOf(error));
    } finally {
      await worker.terminate();
    }
  }
}

/** Undefined where it was not made, or is damaged: then one is made of the packages' files. */
function openBundled(): TableData | undefined {
  const part = shipped.geoTable();
  try {
    return part && openTable(part);
  } catch {
    return undefined;
  }
}

function tableOf({ table, warnings }: KeptTable): GeoData {
  if (typeof table !== 'string') return { table: table && tableInMemory(table), warnings };
  try {
    return { table: openTable({ path: table, offset: 0, size: undefined }), warnings };
  } catch (error) {
    const warning = `Cannot use the table of places ${table}: ${reasonOf(error)}`;
    return { table: undefined, warnings: [...warnings, `${warning}; places are unknown`] };
  }
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
