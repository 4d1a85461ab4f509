/** The metrics of redirect threads, shards, the link table and the LMDB environments, read at each scrape. */
import type { Base } from '../modules.ts';
import type { Engine } from '../open-engine.ts';
import type { LinkWriter } from '../../engine/links/writer.ts';
import type { Clock } from '../../model/clock.ts';
import { unshown } from '../../engine/counting/scanned-event.ts';
import type { Logger } from '../../platform/log.ts';
import { linesLost } from '../../platform/service-log.ts';
import { Metrics } from '../../platform/metrics.ts';
import type { Lag } from '../../engine/journal/journal-lag.ts';
import { errorPageKinds } from '../../engine/redirect/pages.ts';
import { redirectTotals, type RedirectThreads } from '../../engine/redirect/redirect-threads.ts';
import {
  type ShardState,
  type ShardThreads,
  shardTotals,
} from '../../engine/counting/shard-threads.ts';

const microsecondsPerSecond = 1_000_000;
/** Bytes of a journal record with an ordinary user agent: converts a lag in bytes to scans. */
const typicalRecordBytes = 160;

export interface EngineMetricsOptions {
  readonly base: Pick<Base, 'clock' | 'management' | 'log'>;
  readonly engine: Omit<Engine, 'queries' | 'geo' | 'refresher'>;
  readonly webhooks: { readonly threadDeaths: number };
}

export const createMetrics = (log: Logger): Metrics =>
  new Metrics((metric, err) => log.error({ metric, err }, 'cannot collect a metric'));

export function registerEngineMetrics(metrics: Metrics, options: EngineMetricsOptions): void {
  const { base, engine, webhooks } = options;
  const { clock, log } = base;
  const { threads, rawQueries, images } = engine;
  const { redirects, shards, journals } = threads;
  registerRedirects(metrics, redirects);
  registerShards(metrics, shards, clock);
  metrics.gauge('quietzone_raw_queries', 'Queries that read raw scans', ['state'], () => {
    const { running, waiting } = rawQueries.stats();
    return { running, waiting };
  });
  metrics.total(
    'quietzone_scans_dropped_total',
    'Scans answered but never counted, by reason',
    ['reason'],
    () => ({
      journal_unwritable: sum(redirects.states, (state) => redirectTotals(state).dropped),
      // Every shard reads all journals and finds the same damage.
      journal_damaged: Math.max(0, ...shards.states.map((one) => shardTotals(one).damagedScans)),
    }),
  );
  metrics.gauge(
    'quietzone_journal_missing_bytes',
    'Counted bytes missing from a journal at the start, and the bytes after them',
    ['journal'],
    () => Object.fromEntries(journals.missingBytes),
  );
  const ageSeconds = (timeMs = Infinity): number => Math.max(0, clock.now() - timeMs) / 1_000;
  metrics.gauge(
    'quietzone_journal_oldest_seconds',
    'Age of the oldest scan whose address and user agent are in a journal file',
    ['journal'],
    () => Object.fromEntries(journals.oldest().map(([journal, ms]) => [journal, ageSeconds(ms)])),
  );
  metrics.total('quietzone_thread_restarts_total', 'Threads restarted', ['kind'], () => ({
    redirect: restartsOf(redirects),
    shard: restartsOf(shards),
    images: images.pool.stats().deaths,
    webhooks: webhooks.threadDeaths,
    raw_queries: rawQueries.stats().deaths,
  }));
  registerStores(metrics, options);
  metrics.total(
    'quietzone_log_lines_lost_total',
    'Log lines lost because their reader stalled or closed, or the disk is full',
    [],
    () => linesLost(log),
  );
}

/** For every node, even without counting. */
export function registerRedirects(metrics: Metrics, redirects: RedirectThreads): void {
  type State = RedirectThreads['states'][number];
  const byThread = (value: (state: State) => number) => () =>
    Object.fromEntries(redirects.states.map(value).entries());
  metrics.total(
    'quietzone_redirects_total',
    'Redirects answered and recorded',
    ['thread'],
    byThread((state) => redirectTotals(state).redirects),
  );
  metrics.total(
    'quietzone_redirect_refusals_total',
    'Requests on the short-link port without a redirect, by kind',
    ['kind'],
    () =>
      Object.fromEntries(
        errorPageKinds.map((kind) => [
          kind,
          sum(redirects.states, (state) => redirectTotals(state).refused[kind]),
        ]),
      ),
  );
  metrics.gauge(
    'quietzone_redirect_connections',
    'Open connections on the short-link port',
    ['thread'],
    byThread((state) => state.figures?.connections ?? 0),
  );
  metrics.gauge(
    'quietzone_scans_waiting',
    'Answered scans in memory, because their journal cannot be written',
    ['thread'],
    byThread((state) => state.figures?.waitingScans ?? 0),
  );
  const { latency } = redirects;
  metrics.gauge(
    'quietzone_redirect_seconds',
    'Time from the first request of an event-loop cycle to its answers',
    ['quantile'],
    () =>
      [0.5, 0.9, 0.99, 0.999].map((quantile) => ({
        labels: { quantile },
        value: latency.getValueAtPercentile(quantile * 100) / microsecondsPerSecond,
      })),
  );
  metrics.total(
    'quietzone_redirect_seconds_count',
    'Event-loop cycles measured by quietzone_redirect_seconds',
    [],
    () => latency.totalCount,
  );
  metrics.total('quietzone_redirect_seconds_sum', 'Total time of these cycles', [], () =>
    latency.totalCount === 0 ? 0 : (latency.mean * latency.totalCount) / microsecondsPerSecond,
  );
}

function registerShards(metrics: Metrics, { states, lag }: ShardThreads, clock: Clock): void {
  const lagOf = (shard: number): Lag => lag.of(shard, clock.monotonicMs());
  const byShard = (value: (state: ShardState, shard: number) => number) => () =>
    Object.fromEntries(states.map(value).entries());
  metrics.gauge(
    'quietzone_window_seconds',
    'Duration of the last window',
    ['shard'],
    byShard((s) => (s.figures?.windowMs ?? 0) / 1_000),
  );
  metrics.gauge(
    'quietzone_commit_seconds',
    'Duration of the commit of the last window',
    ['shard'],
    byShard((s) => (s.figures?.commitMs ?? 0) / 1_000),
  );
  metrics.gauge(
    'quietzone_checkpoint_seconds',
    'Duration of the last checkpoint',
    ['shard'],
    byShard((s) => (s.figures?.checkpointMs ?? 0) / 1_000),
  );
  metrics.gauge(
    'quietzone_actors',
    'Code actors in memory',
    ['shard'],
    byShard((s) => s.figures?.actors ?? 0),
  );
  metrics.gauge(
    'quietzone_journal_lag_bytes',
    'Journal bytes not yet counted',
    ['shard'],
    byShard((_, shard) => lagOf(shard).bytes),
  );
  metrics.gauge(
    'quietzone_journal_lag_scans',
    'Scans not yet counted, estimated from their bytes',
    ['shard'],
    byShard((_, shard) => Math.round(lagOf(shard).bytes / typicalRecordBytes)),
  );
  metrics.gauge(
    'quietzone_journal_lag_seconds',
    'Age of the oldest scan not yet counted',
    ['shard'],
    byShard((_, shard) => lagOf(shard).ms / 1_000),
  );
  metrics.total(
    'quietzone_scans_counted_total',
    'Scans counted, by kind; missed: visits of people without a redirect',
    ['shard', 'kind'],
    () =>
      states.flatMap((state, shard) => {
        const { scans: person, bots: bot, missed } = shardTotals(state);
        return Object.entries({ person, bot, missed }).map(([kind, value]) => ({
          labels: { shard, kind },
          value,
        }));
      }),
  );
}

function registerStores(
  metrics: Metrics,
  { base: { management }, engine: { links, codes, scans } }: EngineMetricsOptions,
): void {
  metrics.gauge('quietzone_store_bytes', 'Bytes of the LMDB environments', ['environment'], () => ({
    management: management.environment.stats().bytes,
    scans: scans.environment.stats().bytes,
  }));
  metrics.total(
    'quietzone_scans_unshown_total',
    'Scans with an impossible time, skipped by webhooks, events and raw scans; each reading counts',
    [],
    () => unshown.scans,
  );
  registerLinkTable(metrics, links, () => codes.links.damagedCount);
  metrics.total(
    'quietzone_link_blocks_repaired_total',
    'Damaged link blocks rebuilt from the records of their codes',
    [],
    () => codes.links.repairedBlocks,
  );
  metrics.gauge(
    'quietzone_refused_numbers',
    'Codes and workspace totals without numbers because a record is damaged',
    [],
    () => scans.frozen.count({}),
  );
}

/** @param damagedCount links refused because their targets are damaged */
export function registerLinkTable(
  metrics: Metrics,
  links: LinkWriter,
  damagedCount: () => number,
): void {
  metrics.gauge('quietzone_links', 'Short codes in the link table', ['state'], () => ({
    live: links.count,
    gone: links.tombstones - damagedCount(),
    damaged: damagedCount(),
  }));
  metrics.gauge('quietzone_link_bytes', 'Shared memory of the link table', ['use'], () => ({
    committed: links.bytesUsed,
    free: links.bytesFree,
    waiting: links.bytesWaiting,
    lost: links.bytesLost,
  }));
}

function sum<State>(states: readonly State[], value: (state: State) => number): number {
  return states.reduce((total, state) => total + value(state), 0);
}

const restartsOf = ({ states }: RedirectThreads | ShardThreads): number =>
  states.reduce((total, { thread }) => total + thread.restarts, 0);
