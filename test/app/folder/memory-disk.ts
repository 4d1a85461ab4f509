/** Where the folders of these tests are. */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** In memory where there is such a place: what waits for flushes most of its time does not wait. */
export const memoryDisk = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
