/**
 * A data folder whose deliveries have version 2, unpacked for a test.
 *
 * It was made by the modules of commit d46f756, the last with that version, with the clock and the scripted receiver of
 * `webhooks-harness.ts` (four retries, at most 1,000 kept) and the shard of `engine-harness.ts`, and copied while
 * they ran, as a `kill -9` leaves a folder:
 *
 *   dying    three events until they were dead; then one was replayed, one sent again by hand, both failed once more
 *   healthy  everything: events, scans one by one, and in lists; eight events and three scans in flight at the end
 *   failing  500 to everything, some attempts each          gone     410 to the first attempt, so disabled
 *   removed  500, deleted while all of it waited            paused   500, disabled by hand while all of it waited
 *   scans    scans in lists of five; three in flight at the end
 *
 * Of those in flight six were answered, four with 200 and two with 500, which only the result journal knows. Behind them
 * stand three events and a block of two scans that nobody had read. `expected.json` is what `Deliveries` listed then, and
 * `answered` the journal's lines. Files are packed by gzip.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { AttemptRecord, DeliveryState } from '../../../src/model/webhook.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

const packed = new URL('../../fixtures/delivery-version-2/', import.meta.url);
const files = ['delivery.mdb', 'delivery.results.1', 'management.mdb', 'scans.mdb'];

export interface OlderDelivery {
  readonly id: string;
  readonly endpointNo: number;
  readonly kind: string;
  readonly eventIds: readonly string[];
  readonly state: DeliveryState;
  readonly dueMs: number;
  readonly tries: number;
  readonly attemptsMade: number;
  readonly attempts: readonly AttemptRecord[];
  readonly deadAtMs: number;
  readonly deadReason: string;
  readonly expiresMs: number;
  readonly body: string;
}

export interface OlderEndpoint {
  readonly no: number;
  readonly id: string;
  readonly figures: object;
  /** Newest first. */
  readonly deliveries: readonly OlderDelivery[];
}

type Name = 'dying' | 'healthy' | 'failing' | 'gone' | 'removed' | 'paused' | 'scans';

export interface OlderFolder {
  readonly atMs: number;
  readonly endpoints: Readonly<Record<Name, OlderEndpoint>>;
  /** Ids, newest first. */
  readonly deadLetters: readonly string[];
  readonly answered: string;
  /** Ids of the events that were not read. */
  readonly unread: readonly string[];
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const older = JSON.parse(
  gunzipSync(readFileSync(new URL('expected.json.gz', packed))).toString(),
) as OlderFolder;

export const olderDeliveries = Object.values(older.endpoints).flatMap(
  ({ deliveries }) => deliveries,
);

/** Results in the journal: number of the delivery, and the status of the answer. */
export const answered: ReadonlyMap<number, number> = new Map(
  older.answered
    .trim()
    .split('\n')
    .flatMap((line) => JSON.parse(line.slice(9)) as [number, number, number, number, unknown[]][])
    .map(([no, , , , attempt]) => [no, Number(attempt[3])]),
);

/** Ends with the test. */
export function unpackOlder(): string {
  const folder = temporaryFolder();
  for (const file of files) {
    writeFileSync(join(folder, file), gunzipSync(readFileSync(new URL(`${file}.gz`, packed))));
  }
  const keys = 'signing-keys.json';
  writeFileSync(join(folder, keys), readFileSync(new URL(keys, packed)), { mode: 0o600 });
  return folder;
}
