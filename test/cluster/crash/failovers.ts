/**
 * Measures how long no write is answered after a fault: from the fault until the first answer to a write that was sent
 * later. A fault is not measured if another one follows before that.
 */
import { pause } from '../../support/process.ts';
import type { ClusterLedger } from './cluster-ledger.ts';

/** An answer of a process that was killed may still arrive for so long. */
const onItsWayMs = 150;
/** Writes are answered at least this often. */
const steadyMs = 500;

export class Failovers {
  /** Milliseconds, by the kind of fault. */
  readonly measured = new Map<string, number[]>();
  #answeredMs = -Infinity;
  #begunMs = -Infinity;
  #begun: { readonly kind: string; readonly atMs: number } | undefined;
  #firstMs: number | undefined;

  constructor(ledger: Pick<ClusterLedger, 'listen'>) {
    ledger.listen((sentMs, atMs) => this.#answered(sentMs, atMs));
  }

  begin(kind: string): void {
    const atMs = performance.now();
    const isDisturbed = this.#begun !== undefined && this.#answeredMs < this.#begun.atMs;
    this.#begunMs = atMs;
    this.#begun = isDisturbed ? undefined : { kind, atMs };
  }

  /** A write must be answered after this call. */
  mark(): void {
    this.#begunMs = performance.now() - onItsWayMs;
    this.#firstMs = undefined;
    this.#begun = undefined;
  }

  /** When the first write was answered after `mark`. */
  get firstMs(): number {
    return this.#firstMs ?? Infinity;
  }

  /** Resolves when writes are answered again after the last fault. @returns false if they are not within `msMax` */
  async recovered(msMax: number): Promise<boolean> {
    const untilMs = performance.now() + msMax;
    while (
      this.#answeredMs <= this.#begunMs + onItsWayMs ||
      performance.now() - this.#answeredMs >= steadyMs
    ) {
      if (performance.now() > untilMs) return false;
      await pause(20);
    }
    return true;
  }

  #answered(sentMs: number, atMs: number): void {
    this.#answeredMs = atMs;
    this.#firstMs ??= atMs;
    const begun = this.#begun;
    if (begun === undefined || sentMs <= begun.atMs) return;
    this.#begun = undefined;
    this.measured.set(begun.kind, [...(this.measured.get(begun.kind) ?? []), atMs - begun.atMs]);
  }
}
