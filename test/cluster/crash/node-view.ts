/**
 * What one node may answer, code by code: never less than it was seen to know, and never less than what a write was
 * answered for while the node was connected.
 *
 *     stage   -1 unknown (404) ─▶ 0 … n the number of its target (302) ─▶ Infinity deleted (410)
 *
 * A stage only rises, over restarts too: a node that had a change in its link table has it in its store.
 */
import type { CodeEntry, Scan } from '../../crash/ledger.ts';
import { targetNumber } from '../../crash/ledger.ts';
import type { ScanLedger } from '../../crash/scanners.ts';
import type { ClusterLedger } from './cluster-ledger.ts';

const unknown = -1;
const deleted = Infinity;

interface Asked {
  readonly atMs: number;
  /** The answer may not be older. */
  readonly stage: number;
}

export class NodeView implements ScanLedger {
  readonly #node: string;
  readonly #ledger: ClusterLedger;
  readonly #stages = new Map<CodeEntry, number>();
  readonly #asked = new Map<number, Asked>();
  #answeredMs: number | undefined;
  answered = 0;
  /** Answers older than the newest write that was answered: those that may be. */
  stale = 0;
  /** Milliseconds that answers took, of requests that were sent and answered in one undisturbed time. */
  readonly latencies: number[] = [];
  /** The longest time without an answer in one undisturbed time. */
  silentMsMax = 0;

  constructor(node: string, ledger: ClusterLedger) {
    this.#node = node;
    this.#ledger = ledger;
  }

  get codes(): CodeEntry[] {
    return this.#ledger.codes;
  }

  get scans(): number {
    return this.#ledger.scans;
  }

  /** The node is killed, frozen or resumed: requests that are in flight are not timed. */
  disturb(): void {
    this.#answeredMs = undefined;
    for (const [number, { stage }] of this.#asked) {
      this.#asked.set(number, { atMs: Number.NaN, stage });
    }
  }

  /** No request in flight gets an answer. */
  clear(): void {
    this.#answeredMs = undefined;
    this.#asked.clear();
  }

  /** The node must know this from now on. */
  raise(code: CodeEntry, stage: number): void {
    this.#stages.set(code, Math.max(stage, this.#stages.get(code) ?? unknown));
  }

  send(code: CodeEntry, kind: Scan['kind'], visitor: number): Scan {
    const scan = this.#ledger.send(code, kind, visitor);
    const stage = this.#stages.get(code) ?? unknown;
    this.#asked.set(scan.number, { atMs: performance.now(), stage });
    return scan;
  }

  receive(scan: Scan, status: number, location: string): void {
    const asked = this.#asked.get(scan.number);
    this.#asked.delete(scan.number);
    this.#ledger.take(scan, status);
    this.answered++;
    this.#time(asked);
    this.#check(scan, asked?.stage ?? unknown, status, location);
  }

  #time(asked: Asked | undefined): void {
    const nowMs = performance.now();
    const since = this.#answeredMs;
    this.#answeredMs = nowMs;
    if (asked === undefined || Number.isNaN(asked.atMs)) return;
    this.latencies.push(nowMs - asked.atMs);
    if (since !== undefined) this.silentMsMax = Math.max(this.silentMsMax, nowMs - since);
  }

  #check({ code, number }: Scan, atLeast: number, status: number, location: string): void {
    const stage = stageOf(code, status, location);
    const at = `${this.#node}: ${code.path} (${code.state}, target ${code.targetAcknowledged} of ${code.targetSent})`;
    const answer = `${status} ${location}`.trim();
    if (stage === undefined) {
      this.#ledger.note(`${at} answered ${answer}`);
      return;
    }
    const isDeletable = code.state === 'deleting' || code.state === 'deleted';
    const newest = isDeletable ? deleted : code.targetSent;
    if (stage > newest) this.#ledger.note(`${at} answered ${answer}: nothing of it was asked for`);
    if (stage < atLeast) {
      this.#ledger.stale(`${at} answered scan ${number} with ${answer}, expected stage ${atLeast}`);
    }
    const written = code.state === 'deleted' ? deleted : code.targetAcknowledged;
    if (stage < written) this.stale++;
    this.raise(code, stage);
  }
}

/** Undefined for an answer that no redirect thread may give. */
function stageOf(code: CodeEntry, status: number, location: string): number | undefined {
  if (status === 302) return targetNumber(code, location);
  if (status === 410) return deleted;
  return status === 404 ? unknown : undefined;
}
