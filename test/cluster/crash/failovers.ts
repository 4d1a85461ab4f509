/** Whether writes are answered again after a fault. */
import { pause } from '../../support/process.ts';
import type { ClusterLedger } from './cluster-ledger.ts';

/** An answer of a process that was killed may still arrive for so long. */
const onItsWayMs = 150;
/** Writes are answered at least this often. */
const steadyMs = 500;

export class Failovers {
  #answeredMs = -Infinity;
  #begunMs = -Infinity;
  #firstMs: number | undefined;

  constructor(ledger: Pick<ClusterLedger, 'listen'>) {
    ledger.listen((atMs) => {
      this.#answeredMs = atMs;
      this.#firstMs ??= atMs;
    });
  }

  begin(): void {
    this.#begunMs = performance.now();
  }

  /** A write must be answered after this call. */
  mark(): void {
    this.#begunMs = performance.now() - onItsWayMs;
    this.#firstMs = undefined;
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
}
