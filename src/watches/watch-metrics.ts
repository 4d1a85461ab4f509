/** Metrics of watches: looks, incidents that began, and how far behind their times they are. */
import type { IncidentKind } from '../model/watches/watch.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface WatchMeter {
  /** @param result of scans: read, gone, failed; of a target: answering, failing, inconclusive */
  checked(what: 'scans' | 'target', result: string): void;
  begun(kind: IncidentKind): void;
}

export function createWatchMeter(metrics: Metrics): WatchMeter {
  const checks = metrics.counter('quietzone_watch_checks_total', 'Looks at what is watched', [
    'what',
    'result',
  ]);
  const incidents = metrics.counter(
    'quietzone_watch_incidents_total',
    'Incidents that began, also those whose transaction was undone',
    ['kind'],
  );
  return {
    checked: (what, result) => checks.add(1, { what, result }),
    begun: (kind) => incidents.add(1, { kind }),
  };
}

export function registerWatchMetrics(
  metrics: Metrics,
  watched: { readonly behindMs: number },
): void {
  metrics.gauge(
    'quietzone_watch_lag_seconds',
    'How long the most overdue watch has been due',
    [],
    () => watched.behindMs / 1_000,
  );
}
