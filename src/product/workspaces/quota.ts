/**
 * The quota of a workspace, shared by its keys: exact, because one thread counts in memory. Counts are written within
 * 100 ms and on close, so they survive a restart; `kill -9` can lose those of the last 100 ms.
 */
import type { Clock } from '../../model/clock.ts';
import type { PlanLimits } from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import { DelayedWrite } from './delayed-write.ts';
import { QuotaWindows, type QuotaAnswer } from './window-count.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

const writeDelayMs = 100;
/**
 * Workspaces whose counts are in memory; beyond it the written ones are freed and read again when needed.
 * No lru-cache: counts that are not written yet must stay.
 */
const workspacesMax = 50_000;

export class Quota {
  readonly #store: Management;
  readonly #clock: Clock;
  readonly #windows = new Map<number, QuotaWindows>();
  readonly #changed = new Set<number>();
  readonly #write: DelayedWrite;

  constructor(store: Management, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#write = new DelayedWrite(writeDelayMs, async () => await this.#writeChanged());
  }

  /** Counts a request if the limits allow it. */
  take(workspaceNo: WorkspaceNo, limits: PlanLimits): QuotaAnswer {
    const answer = this.#of(workspaceNo).take(limits, this.#clock.now());
    if (answer.allowed) {
      this.#changed.add(workspaceNo);
      this.#write.mark();
    }
    return answer;
  }

  /** The state without counting. */
  peek(workspaceNo: WorkspaceNo, limits: PlanLimits): QuotaAnswer {
    return this.#of(workspaceNo).peek(limits, this.#clock.now());
  }

  /** Requests so far in the windows of now, and when these end. */
  usage(
    workspaceNo: WorkspaceNo,
  ): Readonly<Record<'minute' | 'day', { used: number; endMs: number }>> {
    const { minute, day } = this.#of(workspaceNo);
    const nowMs = this.#clock.now();
    return {
      minute: { used: minute.at(nowMs), endMs: minute.endMs },
      day: { used: day.at(nowMs), endMs: day.endMs },
    };
  }

  async close(): Promise<void> {
    await this.#write.close();
  }

  #of(workspaceNo: WorkspaceNo): QuotaWindows {
    const known = this.#windows.get(workspaceNo);
    if (known !== undefined) return known;
    if (this.#windows.size >= workspacesMax) this.#freeWritten();
    const stored = this.#store.quota.get(workspaceNo);
    const windows = new QuotaWindows(stored?.minutes, stored?.days);
    this.#windows.set(workspaceNo, windows);
    return windows;
  }

  #freeWritten(): void {
    for (const workspaceNo of this.#windows.keys()) {
      if (!this.#changed.has(workspaceNo)) this.#windows.delete(workspaceNo);
    }
  }

  async #writeChanged(): Promise<void> {
    if (this.#changed.size === 0) return;
    const changed = [...this.#changed];
    // Read inside the transaction: a later request marks its workspace again.
    await this.#store.environment
      .transaction(() => {
        for (const workspaceNo of changed) {
          const windows = this.#windows.get(workspaceNo);
          if (windows === undefined) continue;
          const { minute, day } = windows;
          this.#store.quota.put(workspaceNo, { minutes: minute.counted, days: day.counted });
          this.#changed.delete(workspaceNo);
        }
      })
      .catch((error: unknown) => {
        for (const workspaceNo of changed) this.#changed.add(workspaceNo);
        throw error;
      });
  }
}
