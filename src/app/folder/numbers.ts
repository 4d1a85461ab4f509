/**
 * Keeps numbers unique. Each environment is flushed separately, so after a power loss one may be behind the others; a
 * new scans.mdb is further behind. A start therefore raises each sequence above the numbers in the other environments.
 *
 *   number       sequence in     seen in
 *   code         management      totals and blocks of scans, journals (by the shards)
 *   workspace    management      totals and blocks of scans, journals (by the shards)
 *   event        management      position of the deliveries
 *   endpoint     management      stats of the deliveries
 *   block        scans           position of the deliveries, first block of an endpoint
 */
import { ScanBlock } from '../../engine/counting/block.ts';
import type { DeliveryTables } from '../../store/delivery/delivery.ts';
import type { Management, Sequence } from '../../store/management/management.ts';
import {
  newestSequence,
  readCheckpoints,
  type ScanStore,
  workspaceCountersFirst,
  workspaceOfCounter,
} from '../../store/scans/scans.ts';
import { newestNumber } from '../../store/sequence-search.ts';
import type { Logger } from '../../platform/log.ts';

/** The highest numbers found; 0 = none. */
export type SeenNumbers = Partial<Readonly<Record<Sequence, number>>>;

interface NumberedStores {
  readonly management: Management;
  readonly scans: ScanStore;
  readonly delivery: Pick<DeliveryTables, 'positions' | 'stats'>;
}

const warning = 'raised a sequence above the numbers in another file of the data folder';

/** @throws Failure storage_full if a sequence must rise and the disk is full */
export function raiseNumbers({ management, scans, delivery }: NumberedStores, log: Logger): void {
  const [event, entries] = delivery.positions.get('events', skip) ?? [0, 0];
  const endpoint = newestNumber(delivery.stats);
  raise(management, log, { ...seenInScans(scans), event: event + Math.sign(entries), endpoint });
  raiseBlocks({ management, scans, delivery }, log);
}

/** Only blocks of scans: a core of a cluster gets all other numbers from the log. */
export function raiseBlocks({ management, scans, delivery }: NumberedStores, log: Logger): void {
  const [block, blockEntries] = delivery.positions.get('scans', skip) ?? [0, 0];
  const endpoints = [...management.webhooks.endpoints.range({}, skip)];
  const first = endpoints.flatMap(
    ({ value: { firstBlock, since = {}, pauses = [], batches = [] } }) => [
      firstBlock,
      ...Object.values(since).map(({ block }) => block),
      ...pauses.flatMap(({ from, to = from }) => [from.block, to.block]),
      ...batches.map(({ upTo }) => upTo),
    ],
  );
  const seen = Math.max(block + Math.sign(blockEntries), ...first);
  const from = newestSequence(scans);
  if (seen <= from) return;
  log.warn({ number: 'block', from, to: seen }, warning);
  scans.environment.transactionSync(() => scans.meta.put('sequence', seen));
}

export function raise(management: Management, log: Logger, seen: SeenNumbers): void {
  for (const [name, to] of Object.entries(seen)) {
    const from = management.meta.get(`next:${name}`, skip) ?? 1;
    if (to < from) continue;
    log.warn({ number: name, from: from - 1, to }, warning);
    management.environment.transactionSync(() => {
      const now = management.meta.get(`next:${name}`) ?? 1;
      if (to >= now) management.meta.put(`next:${name}`, to + 1);
    });
  }
}

/** In totals, and in blocks newer than the totals. */
function seenInScans(scans: ScanStore): SeenNumbers {
  const { summaries, blocks } = scans;
  const code = newestNumber(summaries, workspaceCountersFirst);
  const [counter] = summaries.keys({ start: workspaceCountersFirst, limit: 1 });
  const workspace = (counter !== undefined && workspaceOfCounter(counter)) || 0;
  const seen = { code, workspace };
  for (const { value } of blocks.range({ start: Math.min(...readCheckpoints(scans)) + 1 }, skip)) {
    new ScanBlock(value).raise(seen);
  }
  return seen;
}

/** Ignores damaged records, which their readers report. */
const skip = (): undefined => undefined;
