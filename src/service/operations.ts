/**
 * What an operator sees: health with reasons, and the metrics of everything that runs below the API.
 * Values are read when somebody asks; nothing here runs on its own.
 */
import type { HealthCheck, HealthReport } from '../api/services.ts';
import type { Codes } from '../codes/codes.ts';
import type { Images } from '../images/image-service.ts';
import type { LinkWriter } from '../links/writer.ts';
import type { Management } from '../store/management/management.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type EngineThreads, refusalKinds } from '../engine/threads.ts';

/** Uncounted scans older than this make the service not ready: the numbers no longer keep up. */
const lagMsMax = 30_000;
const microsecondsPerSecond = 1_000_000;

export interface Observed {
  readonly threads: EngineThreads;
  readonly links: LinkWriter;
  readonly codes: Codes;
  readonly images: Images;
  readonly scans: ScanStore;
  readonly management: Management;
  readonly webhooks: {
    /** What is wrong with them; undefined = nothing. */
    readonly problem: string | undefined;
    readonly threadDeaths: number;
  };
}

/** @param isStopping true once the service drains */
export function healthOf(
  { threads, codes, management, webhooks }: Observed,
  isStopping: boolean,
): HealthReport {
  const silent = threads.redirects.filter((state) => !state.isListening).length;
  const journalFault = threads.redirects.find((state) => state.figures?.journalFault !== undefined);
  const shardFault = threads.shards.find((state) => state.fault !== undefined);
  const lagMs = Math.max(0, ...threads.shards.map((state) => state.figures?.lagMs ?? 0));
  const checks: HealthCheck[] = [
    check('running', !isStopping, 'the service is stopping'),
    check('redirects', silent === 0, `${silent} redirect threads are not listening`),
    check(
      'journal',
      journalFault === undefined,
      `scans wait in memory, a journal cannot be written: ${journalFault?.figures?.journalFault}`,
    ),
    check(
      'scans',
      shardFault === undefined,
      `scans wait in the journal, the store cannot be written: ${shardFault?.fault}`,
    ),
    check(
      'management',
      !management.environment.isFull,
      'the store cannot be written: no changes are taken, redirects go on',
    ),
    check(
      'links',
      codes.links.lateCount === 0,
      `${codes.links.lateCount} changed links do not fit into the link table, see links.arenaBytesMax`,
    ),
    check('webhooks', webhooks.problem === undefined, webhooks.problem ?? ''),
    check('lag', lagMs <= lagMsMax, `counting is ${Math.round(lagMs / 1_000)} s behind`),
  ];
  return { ready: checks.every(({ ok }) => ok), checks };
}

const check = (name: string, ok: boolean, problem: string): HealthCheck => ({
  name,
  ok,
  detail: ok ? 'ok' : problem,
});

export function registerMetrics(metrics: Metrics, observed: Observed): void {
  registerRedirects(metrics, observed);
  registerShards(metrics, observed);
  registerStore(metrics, observed);
}

function registerRedirects(metrics: Metrics, { threads }: Observed): void {
  const byThread = (value: (state: (typeof threads.redirects)[number]) => number) => () =>
    threads.redirects.map((state, thread) => ({ labels: { thread }, value: value(state) }));
  metrics.total(
    'quietzone_redirects_total',
    'Redirects answered and recorded',
    ['thread'],
    byThread((state) => state.redirectsBefore + (state.figures?.redirects ?? 0)),
  );
  metrics.total(
    'quietzone_redirect_refusals_total',
    'Requests on the short-link port that got no redirect, by kind',
    ['kind'],
    () =>
      refusalKinds.map((kind) => ({
        labels: { kind },
        value: threads.redirects.reduce(
          (sum, state) => sum + state.refusedBefore[kind] + (state.figures?.refused[kind] ?? 0),
          0,
        ),
      })),
  );
  metrics.gauge(
    'quietzone_redirect_connections',
    'Open connections on the short-link port',
    ['thread'],
    byThread((state) => state.figures?.connections ?? 0),
  );
  metrics.gauge(
    'quietzone_scans_waiting',
    'Scans answered that wait in memory for a journal that cannot be written',
    ['thread'],
    byThread((state) => state.figures?.waitingScans ?? 0),
  );
  metrics.summary(
    'quietzone_redirect_seconds',
    'Time from the first request of an event-loop turn to its answers',
    [],
    () => {
      const { latency } = threads;
      const quantiles = Object.fromEntries(
        [0.5, 0.9, 0.99, 0.999].map((quantile) => [
          String(quantile),
          latency.getValueAtPercentile(quantile * 100) / microsecondsPerSecond,
        ]),
      );
      const sum = (latency.mean * latency.totalCount) / microsecondsPerSecond;
      return [{ quantiles, count: latency.totalCount, sum: Number.isFinite(sum) ? sum : 0 }];
    },
  );
}

function registerShards(metrics: Metrics, { threads, images, webhooks }: Observed): void {
  type State = (typeof threads.shards)[number];
  const byShard = (value: (state: State) => number) => () =>
    threads.shards.map((state, shard) => ({ labels: { shard }, value: value(state) }));
  const gauges: ReadonlyArray<[name: string, help: string, value: (state: State) => number]> = [
    ['journal_lag_bytes', 'Journal bytes not yet read', (s) => s.figures?.lagBytes ?? 0],
    ['journal_lag_scans', 'Scans not yet counted, by the bytes of those read', lagScans],
    ['journal_lag_seconds', 'Age of the scans read last', (s) => (s.figures?.lagMs ?? 0) / 1_000],
    ['window_seconds', 'Duration of the last window', (s) => (s.figures?.windowMs ?? 0) / 1_000],
    ['commit_seconds', 'Its commit', (s) => (s.figures?.commitMs ?? 0) / 1_000],
    ['checkpoint_seconds', 'Last checkpoint', (s) => (s.figures?.checkpointMs ?? 0) / 1_000],
    ['actors', 'Code actors in memory', (s) => s.figures?.actors ?? 0],
  ];
  for (const [name, help, value] of gauges) {
    metrics.gauge(`quietzone_${name}`, help, ['shard'], byShard(value));
  }
  metrics.total(
    'quietzone_scans_counted_total',
    'Scans counted, people and bots apart',
    ['shard', 'kind'],
    () =>
      threads.shards.flatMap((state, shard) => [
        {
          labels: { shard, kind: 'person' },
          value: state.scansBefore + (state.figures?.scans ?? 0),
        },
        { labels: { shard, kind: 'bot' }, value: state.botsBefore + (state.figures?.bots ?? 0) },
      ]),
  );
  metrics.total(
    'quietzone_scans_dropped_total',
    'Scans answered and never counted, by reason',
    ['reason'],
    () => [
      {
        labels: { reason: 'journal_unwritable' },
        value: threads.redirects.reduce(
          (sum, state) => sum + state.droppedBefore + (state.figures?.droppedScans ?? 0),
          0,
        ),
      },
      {
        labels: { reason: 'journal_damaged' },
        value: Math.max(
          0,
          ...threads.shards.map((s) => s.damagedBefore + (s.figures?.damagedScans ?? 0)),
        ),
      },
    ],
  );
  metrics.total('quietzone_thread_restarts_total', 'Threads started again', ['kind'], () => [
    { labels: { kind: 'redirect' }, value: sumRestarts(threads.redirects) },
    { labels: { kind: 'shard' }, value: sumRestarts(threads.shards) },
    { labels: { kind: 'images' }, value: images.stats().pool.deaths },
    { labels: { kind: 'webhooks' }, value: webhooks.threadDeaths },
  ]);
}

/** Bytes of a journal record with an ordinary user agent: what turns a lag in bytes into scans. */
const typicalRecordBytes = 160;

const lagScans = (state: EngineThreads['shards'][number]): number =>
  Math.round((state.figures?.lagBytes ?? 0) / typicalRecordBytes);

const sumRestarts = (states: ReadonlyArray<{ readonly thread: { restarts: number } }>): number =>
  states.reduce((sum, { thread }) => sum + thread.restarts, 0);

function registerStore(metrics: Metrics, { links, images, scans, management }: Observed): void {
  metrics.gauge('quietzone_store_bytes', 'Bytes of the LMDB environments', ['environment'], () => [
    { labels: { environment: 'management' }, value: management.environment.stats().bytes },
    { labels: { environment: 'scans' }, value: scans.environment.stats().bytes },
  ]);
  metrics.gauge('quietzone_links', 'Short codes in the link table', ['state'], () => [
    { labels: { state: 'live' }, value: links.count },
    { labels: { state: 'gone' }, value: links.goneCount },
  ]);
  metrics.gauge('quietzone_link_bytes', 'Shared memory of the link table', ['use'], () => [
    { labels: { use: 'committed' }, value: links.bytesUsed },
    { labels: { use: 'free' }, value: links.bytesFree },
    { labels: { use: 'waiting' }, value: links.bytesWaiting },
    { labels: { use: 'lost' }, value: links.bytesLost },
  ]);
  metrics.total(
    'quietzone_images_drawn_total',
    'Images drawn by the pool',
    [],
    () => images.stats().drawn,
  );
  metrics.gauge(
    'quietzone_image_cache_bytes',
    'Drawn images kept, in memory and on the disk',
    ['where'],
    () => [
      { labels: { where: 'memory' }, value: images.stats().cacheBytes },
      { labels: { where: 'disk' }, value: images.stats().disk.bytes },
    ],
  );
  metrics.total(
    'quietzone_image_disk_faults_total',
    'Files of the image cache that were damaged, or could not be read or written',
    [],
    () => images.stats().disk.faults,
  );
  metrics.gauge(
    'quietzone_pool_waiting',
    'Tasks that wait for a pool thread',
    [],
    () => images.stats().pool.waiting,
  );
}
