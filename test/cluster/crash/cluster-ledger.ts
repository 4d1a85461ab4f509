/** Every request and answer of all nodes: scans (test/crash/ledger.ts) and writes. */
import { Ledger } from '../../crash/ledger.ts';

type Listener = (sentMs: number, atMs: number) => void;

export class ClusterLedger extends Ledger {
  readonly #startedMs = performance.now();
  readonly #listeners = new Set<Listener>();
  /** Milliseconds of writes that were answered at the first try. */
  readonly latencies: number[] = [];
  /** Requests of clients, by status or by what broke them. */
  readonly outcomes = new Map<string, number>();
  /** Writes that were sent again until they were answered. */
  repeated = 0;
  /** Nodes that were connected when a write was answered: none may show an older state afterwards. */
  promised = 0;
  /** Answers with X-Links-Behind: they promise nothing about the nodes that are behind. */
  linksBehind = 0;
  /** Redirects to what a write had replaced before they were asked for, on a node that was connected. */
  staleCount = 0;
  reads = 0;
  /** Whose store is being compared. */
  speaker: string | undefined;

  override note(what: string): void {
    super.note(
      `${this.secondsNow()}: ${this.speaker === undefined ? what : `${this.speaker}: ${what}`}`,
    );
  }

  /** As the trace of the run has them. */
  secondsNow(): string {
    return ((performance.now() - this.#startedMs) / 1_000).toFixed(3);
  }

  stale(what: string): void {
    this.staleCount++;
    this.note(`stale: ${what}`);
  }

  outcome(what: string): void {
    this.outcomes.set(what, (this.outcomes.get(what) ?? 0) + 1);
  }

  /** Sent for the first time at `firstMs`, for the last at `sentMs`. */
  written(firstMs: number, sentMs: number): void {
    const nowMs = performance.now();
    this.acknowledged++;
    if (firstMs === sentMs) this.latencies.push(nowMs - sentMs);
    else this.repeated++;
    for (const listener of this.#listeners) listener(sentMs, nowMs);
  }

  /** @param listener is called for each write that is answered with 2xx @returns ends it */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
