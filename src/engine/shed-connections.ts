/** Connections that were closed because their listener had no place left: a metric, and a line of the log while it goes on. */
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { Ticker } from '../telemetry/ticker.ts';

/** A line for each listener at most so often. */
const everyMs = 10_000;

/** By listener, counted since the start. @returns ends the watching */
export function watchShedConnections(
  metrics: Metrics,
  log: Logger,
  listeners: Readonly<Record<string, { readonly shed: number }>>,
): () => Promise<void> {
  metrics.total(
    'quietzone_connections_shed_total',
    'Connections closed because all places of their listener were taken',
    ['listener'],
    () =>
      Object.entries(listeners).map(([listener, { shed }]) => ({
        labels: { listener },
        value: shed,
      })),
  );
  const logged = new Map<string, number>();
  const ticker = new Ticker({
    everyMs,
    log,
    failed: 'watching connections failed',
    resumed: 'watching connections resumed',
    run: () => {
      for (const [listener, { shed }] of Object.entries(listeners)) {
        const connections = shed - (logged.get(listener) ?? 0);
        if (connections <= 0) continue;
        logged.set(listener, shed);
        log.warn(
          { listener, connections },
          'connections closed, all places of the listener are taken',
        );
      }
    },
  });
  ticker.start();
  return () => ticker.close();
}
