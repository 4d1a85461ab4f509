/** Waiting for what the service does by itself: counting, ending a campaign, delivering. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import { formatDay } from '../../model/day.ts';
import type { ApiClient } from './api-client.ts';
import type { DemoDays } from './demo-days.ts';

/** Far below what a workspace may ask in a minute. */
const askMs = 150;
/** Nothing takes as long where nothing is broken. */
const waitMsMax = 120_000;

/** @throws Error after `waitMsMax` */
export async function until(
  what: string,
  clock: Clock,
  isSo: () => Promise<boolean>,
): Promise<void> {
  const endMs = clock.monotonicMs() + waitMsMax;
  while (!(await isSo())) {
    if (clock.monotonicMs() > endMs) throw new Error(`Cannot make the demo: no ${what} yet`);
    await pause(askMs);
  }
}

export interface CountingOptions {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly days: DemoDays;
  readonly onCounted: (scans: number) => void;
}

/** Until the workspace has so many scans. */
export async function untilCounted(options: CountingOptions, scans: number): Promise<void> {
  const { api, clock, days, onCounted } = options;
  const range = `from=${formatDay(days.first)}&to=${formatDay(days.today)}`;
  await until(`${scans} counted scans`, clock, async () => {
    const summary = await api.get(`/analytics/summary?${range}`);
    const counted = summary.get('totalScans').number;
    onCounted(counted);
    return counted >= scans;
  });
}
