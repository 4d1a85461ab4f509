/**
 * A process whose data file LMDB gives up: the descriptor for its synced writes is closed under it, so the next meta
 * page cannot be written. Runs as a process of its own; the second argument is the file.
 */
import { closeSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { watchLostStores } from '../../../src/app/metrics/stored-data.ts';
import { Signal } from '../../../src/model/signal.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { createLog } from '../../../src/platform/log.ts';

/** O_DSYNC of Linux, in the flags of a descriptor. */
const syncedFlag = 0o10_000;
const endsWithinMs = 30_000;

function isSyncedFileAt(path: string, descriptor: string): boolean {
  try {
    if (readlinkSync(`/proc/self/fd/${descriptor}`) !== path) return false;
    const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
    const flags = /flags:\s+(\d+)/.exec(info)?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & syncedFlag) !== 0;
  } catch {
    return false;
  }
}

const path = process.argv[2] ?? '';
const environment = new StoreEnvironment(path, 'create');
const table = environment.table<number, string>('texts');
await environment.transaction(() => table.put(1, 'kept'));
await environment.flush();
watchLostStores([environment], createLog('info', process.stderr), new Signal());
for (const descriptor of readdirSync('/proc/self/fd')) {
  if (isSyncedFileAt(path, descriptor)) closeSync(Number(descriptor));
}
await environment.transaction(() => table.put(2, 'committed'));
await pause(endsWithinMs);
