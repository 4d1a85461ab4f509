/**
 * Watches as the application opens them: what people ask for, and the scheduler that looks.
 *
 *   API -> watches.ts -> record, timers        scheduler -> subjects.ts, hour-history.ts -> expectation.ts -> conclusions.ts
 *                                                        -> target-rounds.ts -> webhooks/attempt: the egress guard
 *                                              conclusions -> incidents.ts -> event in the outbox, letters -> alert-post.ts
 *
 * All of it is in the management environment, which a cluster replicates: findings, incident and event are one
 * transaction, so that a change of leader finds either all of it or nothing.
 */
import type { Clock } from '../model/clock.ts';
import type { IdSource } from '../model/ids.ts';
import type { TargetChecker } from '../model/watches/watch.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { ScanAnalytics } from '../scans/query/analytics.ts';
import type { Management } from '../store/management/management.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type Alert, AlertPost } from './alert-post.ts';
import { HourHistory } from './hour-history.ts';
import { Incidents } from './incidents.ts';
import { type CountingMarks, Running } from './running.ts';
import { Subjects, type WatchedCodes } from './subjects.ts';
import { TargetRounds } from './target-rounds.ts';
import { createWatchMeter, registerWatchMetrics } from './watch-metrics.ts';
import { Watches } from './watches.ts';
import { WatchScheduler } from './watch-scheduler.ts';

export interface WatchServicesOptions {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly codes: WatchedCodes;
  readonly scans: Pick<ScanAnalytics, 'series' | 'lifetimeScans'>;
  /** Of the short links. */
  readonly ownHost: string;
  /** Of the dashboard. */
  readonly publicUrl: string;
  /** Absent = no mail is sent. */
  readonly sendAlert: ((alert: Alert) => boolean) | undefined;
  readonly counting: CountingMarks;
  /** Whether scans are answered and counted now. */
  readonly isWell: () => boolean;
  readonly checker: TargetChecker;
}

export interface WatchServices {
  readonly watches: Watches;
  readonly incidents: Incidents;
  readonly subjects: Subjects;
  readonly scheduler: WatchScheduler;
  close(): Promise<unknown>;
}

export function openWatches(options: WatchServicesOptions): WatchServices {
  const { scans, metrics, sendAlert: send, checker } = options;
  const subjects = new Subjects({ ...options, scansOf: (no) => scans.lifetimeScans(no) });
  const incidents = new Incidents({ ...options, hasMail: send !== undefined });
  const watches = new Watches({ ...options, subjects, incidents });
  const requests = metrics.counter(
    'quietzone_watch_requests_total',
    'Requests to targets, by result: answered, or the class of failure',
    ['result'],
  );
  const scheduler = new WatchScheduler({
    ...options,
    watches,
    incidents,
    subjects,
    history: new HourHistory(scans),
    running: new Running(options),
    rounds: new TargetRounds({
      ...options,
      onRequest: ({ failure = 'answered' }) => requests.add(1, { result: failure }),
    }),
    post: new AlertPost({ ...options, send }),
    meter: createWatchMeter(metrics),
  });
  registerWatchMetrics(metrics, scheduler);
  let closing: Promise<unknown> | undefined;
  return {
    watches,
    incidents,
    subjects,
    scheduler,
    close: () => (closing ??= Promise.all([scheduler.close(), checker.close()])),
  };
}
