/** The walk of a data file (data-file/walk.ts) beside writers: of a snapshot that LMDB holds. */
import {
  type DataFileSummary,
  readMetas,
  walkDataFile,
  type WalkOptions,
} from './data-file/walk.ts';
import { StoreEnvironment } from './environment.ts';

/**
 * Opening a file for its snapshot reads the meta pages alone; they are looked at before.
 * @throws Error of the system
 */
export function walkSnapshot(path: string, options: WalkOptions = {}): DataFileSummary {
  if (readMetas(path).meta === undefined) return walkDataFile(path, options);
  const environment = new StoreEnvironment(path, 'read');
  const release = environment.holdSnapshot();
  try {
    return walkDataFile(path, { ...options, choice: 'newest' });
  } finally {
    release();
    void environment.close();
  }
}
