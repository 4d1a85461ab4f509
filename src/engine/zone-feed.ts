/**
 * Time zones of workspaces, from the store to the shards, which cut days at their midnights (scans/days/zone-cuts.ts).
 *
 * A change is numbered in its transaction, and the number is looked at now and then, not told: another process may have made
 * it, or another core of a cluster. It holds from the next UTC day on, so there is time; a day that begins before it is known
 * stays whole, which costs questions about it, but is never wrong.
 */
import { readOr } from '../model/failure.ts';
import type { WorkspaceZone } from '../scans/days/zone-cuts.ts';
import type { Management } from '../store/management/management.ts';
import type { Logger } from '../telemetry/log.ts';
import { Ticker } from '../telemetry/ticker.ts';

/** A look costs one read, and wakes the thread. */
const everyMs = 10_000;

export class ZoneFeed {
  readonly #store: Management;
  readonly #ticker: Ticker;
  #zones: readonly WorkspaceZone[] = [];
  #seen = 0;
  #onZones: (zones: readonly WorkspaceZone[]) => void = () => undefined;

  constructor(store: Management, log: Logger) {
    this.#store = store;
    this.#ticker = new Ticker({
      everyMs,
      run: () => this.#follow(),
      log,
      failed: 'reading the time zones of workspaces failed, retrying',
      resumed: 'reading the time zones of workspaces resumed',
    });
  }

  /** @param onZones called with all of them when one has changed */
  start(onZones: (zones: readonly WorkspaceZone[]) => void): void {
    this.#onZones = onZones;
    this.#ticker.start();
  }

  /** Of workspaces that have, or had until today, another than UTC. */
  all(): readonly WorkspaceZone[] {
    // A damaged record keeps no shard from counting.
    readOr(() => this.#follow(), undefined);
    return this.#zones;
  }

  async close(): Promise<void> {
    await this.#ticker.close();
  }

  #follow(): void {
    const { environment, last, workspaces } = this.#store;
    environment.refresh();
    const newest = last('zones');
    if (newest === this.#seen) return;
    const zones: WorkspaceZone[] = [];
    // Once for each change: zones are set once, by people.
    for (const { value } of workspaces.range({}, () => undefined)) {
      const { no, timezone: zone = 'UTC', zoneSinceDay: sinceDay, zoneBefore: before } = value;
      if (sinceDay === undefined || before === undefined) continue;
      zones.push({ workspaceNo: no, zone, sinceDay, before });
    }
    this.#zones = zones;
    this.#seen = newest;
    this.#onZones(zones);
  }
}
