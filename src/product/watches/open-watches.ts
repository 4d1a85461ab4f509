/**
 * Watches as the application opens them: what people ask for, and the scheduler that looks.
 *
 *   API -> watches.ts -> record, timers        scheduler -> subjects.ts, hour-history.ts -> expectation.ts -> conclusions.ts
 *                                                        -> target-rounds.ts -> webhooks/attempt: the egress guard
 *                                              conclusions -> incidents.ts -> event in the outbox, emails
 *
 * All of it is in the management environment, which a cluster replicates: findings, incident and event are one
 * transaction, so that a change of leader finds either all of it or nothing.
 */
import type { Config } from '../../platform/config/config.ts';
import type { Clock } from '../../model/clock.ts';
import type { IdSource } from '../../model/ids.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { TargetAnswer, TargetChecker, TargetRequest } from '../../model/watches/watch.ts';
import type { AttemptSettings } from '../../model/webhook.ts';
import type { Outbox } from '../../webhooks/outbox.ts';
import type { ScanAnalytics } from '../../engine/analytics/analytics.ts';
import type { Management } from '../../store/management/management.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { shipped } from '../../platform/shipped.ts';
import { createPool } from '../../platform/workers/pool.ts';
import { Incidents, type IncidentsOptions } from './incidents.ts';
import { type CountingMarks, Running } from './running.ts';
import { Subjects, type WatchedCodes } from './subjects.ts';
import { TargetRounds } from './target-rounds.ts';
import { Watches } from './watches.ts';
import { WatchScheduler } from './watch-scheduler.ts';

/** Of requests to targets. */
const [timeoutMs, connectionsMax] = [10_000, 16];
/** Above the caller's number in flight. */
const tasksMax = 64;
const closeMsMax = 100;
/** A thread takes 15 to 25 MB, and requests come in rounds. */
const restMs = 60_000;

export interface WatchServicesOptions {
  readonly config: Config;
  readonly management: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly codes: WatchedCodes;
  readonly scans: Pick<ScanAnalytics, 'series' | 'lifetimeScans'>;
  readonly emails: IncidentsOptions['emails'];
  readonly counting: CountingMarks;
  /** Whether scans are answered and counted now. */
  readonly isWell: () => boolean;
  /** Absent = a thread of its own. */
  readonly checker?: TargetChecker | undefined;
}

export interface WatchServices {
  readonly watches: Watches;
  readonly incidents: Incidents;
  readonly subjects: Subjects;
  readonly scheduler: WatchScheduler;
  close(): Promise<unknown>;
}

/** Watches nothing before its scheduler is started. */
export function openWatches(given: WatchServicesOptions): WatchServices {
  const { config, scans, metrics, checker = openChecker(given) } = given;
  const options = { ...given, store: given.management };
  const ownHost = new URL(config.shortUrlBase).host;
  const scansOf = (no: CodeNo): number => scans.lifetimeScans(no);
  const subjects = new Subjects({ ...options, scansOf, ownHost });
  const incidents = new Incidents({ ...options, publicUrl: config.api.publicUrl });
  const watches = new Watches({ ...options, subjects, incidents });
  const requests = metrics.counter(
    'quietzone_watch_requests_total',
    'Requests to watched targets, by result: answered or the class of failure',
    ['result'],
  );
  const scheduler = new WatchScheduler({
    ...options,
    watches,
    incidents,
    subjects,
    running: new Running(options),
    rounds: new TargetRounds({
      ...options,
      checker,
      onRequest: ({ failure = 'answered' }) => requests.add(1, { result: failure }),
    }),
    checks: metrics.counter(
      'quietzone_watch_checks_total',
      'Checks of watches, by what they check and its result',
      ['what', 'result'],
    ),
    begun: metrics.counter('quietzone_watch_incidents_total', 'Incidents started', ['kind']),
  });
  metrics.gauge(
    'quietzone_watch_lag_seconds',
    'How long the most overdue watch has been due',
    [],
    () => scheduler.behindMs / 1_000,
  );
  let closing: Promise<unknown> | undefined;
  return {
    watches,
    incidents,
    subjects,
    scheduler,
    close: () => (closing ??= Promise.all([scheduler.close(), checker.close()])),
  };
}

/** Checks targets from a separate thread, which starts with the first request and ends after a minute without one. */
function openChecker({ config, log }: WatchServicesOptions): TargetChecker {
  const { allowNetworks } = config.webhooks;
  const docsUrl = `${config.api.publicUrl}/docs/alerts`;
  const settings: AttemptSettings = { allowNetworks, docsUrl, timeoutMs, connectionsMax };
  const pool = createPool<TargetRequest & { settings: AttemptSettings }, TargetAnswer>({
    file: shipped.workerFile('target-request'),
    threads: 1,
    queueMax: tasksMax,
    tasksPerThread: tasksMax,
    closeMsMax,
    restMs,
    onDeath: (err) =>
      log.warn({ err }, 'the thread that requests targets failed, another one started'),
  });
  return {
    async check(request) {
      try {
        return await pool.run({ ...request, settings });
      } catch {
        // A dead thread or a closed pool says nothing about the target.
        return { failure: 'unknown' };
      }
    },
    close: () => pool.close(),
  };
}
