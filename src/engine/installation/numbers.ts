/**
 * Numbers are given out once. Each environment is flushed by itself, so a loss of power may leave one a moment behind
 * the others, and a part that was put back or begun anew is behind by more: before a start gives out a number, it
 * moves on above what the other environments have seen of it.
 *
 *   number       given out by    seen in
 *   code         management      totals and blocks of scans, journals (by the shards)
 *   workspace    management      totals and blocks of scans, journals (by the shards)
 *   event        management      position of the deliveries
 *   endpoint     management      stats of the deliveries
 *   block        scans           position of the deliveries, first block of an endpoint
 *
 * A number whose own record is damaged is found again first, from what it was given to.
 */
import { ScanBlock } from '../../scans/block.ts';
import type { DeliveryTables } from '../../store/delivery/delivery.ts';
import type { Management, Sequence } from '../../store/management/management.ts';
import {
  newestSequence,
  readCheckpoints,
  type ScanStore,
  workspaceCountersFirst,
  workspaceOfCounter,
} from '../../store/scans/scans.ts';
import { lastCodeOf } from '../../store/management/link-blocks.ts';
import { newestNumber } from '../../store/sequence-search.ts';
import type { Logger } from '../../telemetry/log.ts';

/** The highest numbers that were seen; 0 = none. */
export type SeenNumbers = Partial<Readonly<Record<Sequence, number>>>;

export interface NumberedStores {
  readonly management: Management;
  readonly scans: ScanStore;
  readonly delivery: Pick<DeliveryTables, 'positions' | 'stats'>;
}

const warning = 'numbers go on above what another file of the data folder has seen';

/** Before anything is given out. @throws Failure storage_full where there is something to move and no space */
export function raiseNumbers({ management, scans, delivery }: NumberedStores, log: Logger): void {
  findDamagedNumbers(management, log);
  const [event, entries] = delivery.positions.get('events', skip) ?? [0, 0];
  raise(management, log, { ...seenInScans(scans), event: event + Math.sign(entries) });
  raise(management, log, { endpoint: newestNumber(delivery.stats) });
  raiseBlocks({ management, scans, delivery }, log);
}

/** The numbers of this machine's blocks of scans alone; a core of a cluster has all others from the log. */
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

const damagedNumber = Symbol('damaged');

/** The highest of what has one; of a link block, the highest that may be in it. */
function findDamagedNumbers(management: Management, log: Logger): void {
  const { meta, codes, links, codeEdits, events, webhooks, campaigns, bulk, cluster } = management;
  const highest: Readonly<Record<Sequence, () => number>> = {
    workspace: () => newestNumber(management.workspaces),
    code: () => Math.max(newestNumber(codes), lastCodeOf(newestNumber(links))),
    link: () => newestNumber(bulk.linkChanges),
    edit: () => Math.max(0, ...[...codeEdits.range({}, skip)].map(({ value: [no] }) => no)),
    event: () => newestNumber(events),
    endpoint: () => newestNumber(webhooks.endpoints),
    campaign: () => newestNumber(campaigns.campaigns),
    pages: () => newestPageChange(management.pages),
    journal: () => highestJournal(cluster.nodes),
    // Counts: any number that is another one tells a change.
    zones: () => 0,
    node: () => 0,
  };
  for (const [number, find] of Object.entries(highest)) {
    const key = `next:${number}`;
    if (meta.get(key, () => damagedNumber) !== damagedNumber) continue;
    const to = find();
    management.environment.transactionSync(() => meta.put(key, to + 1));
    log.warn({ number, to }, 'the record of the last number was damaged: it is found again');
  }
}

function newestPageChange({ changes }: Management['pages']): number {
  const [newest] = changes.keys({ reverse: true, limit: 1 });
  return newest?.[0] ?? 0;
}

function highestJournal(nodes: Management['cluster']['nodes']): number {
  const registrations = [...nodes.range({}, skip)].flatMap(({ value }) => [value, ...value.past]);
  return Math.max(0, ...registrations.flatMap(({ journals }) => journals));
}

/** Moves the numbers of management above `seen`. */
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

/** In totals, and in the blocks that are not in them yet. */
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

/** Damaged records are reported where they are used. */
const skip = (): undefined => undefined;
