/**
 * How long nothing can be written after a fault: from the moment of the fault until the first answer to a write in a
 * later epoch. A fault is not measured where another follows before that, or where the leader stays.
 */
import { pause } from '../../support/process.ts';
import type { FaultKind } from './fault-kinds.ts';
import type { Ledger } from './ledger.ts';

interface Begun {
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly epoch: number;
}

/** An answer of a process that was killed may still arrive for so long. */
const onItsWayMs = 150;

export class Failovers {
  /** Milliseconds, by the kind of fault. */
  readonly measured = new Map<FaultKind, number[]>();
  /** The newest epoch in which a write was answered. */
  #epoch = 0;
  #answeredMs = -Infinity;
  #begunMs = -Infinity;
  #begun: Begun | undefined;
  #firstMs: number | undefined;

  readonly #epochNow: () => number;

  /**
   * @param epochNow where the service does not say its epoch, the number of what is sent now: an answer to what was sent
   * later ends the measurement
   */
  constructor(ledger: Pick<Ledger, 'listen'>, epochNow = () => 0) {
    this.#epochNow = epochNow;
    ledger.listen((epoch, atMs) => this.#answered(epoch, atMs));
  }

  begin(kind: FaultKind): void {
    const atMs = performance.now();
    const isDisturbed = this.#begun !== undefined && this.#answeredMs < this.#begun.atMs;
    this.#begunMs = atMs;
    this.#begun = isDisturbed
      ? undefined
      : { kind, atMs, epoch: Math.max(this.#epoch, this.#epochNow()) };
  }

  /** From here on a write must be answered. */
  mark(): void {
    this.#begunMs = performance.now() - onItsWayMs;
    this.#firstMs = undefined;
    this.#begun = undefined;
  }

  /** When the first write was answered after the mark. */
  get firstMs(): number {
    return this.#firstMs ?? Infinity;
  }

  /** Resolves when a write was answered since the last fault began, and goes on for a moment. */
  async recovered(msMax: number): Promise<boolean> {
    const untilMs = performance.now() + msMax;
    while (this.#answeredMs <= this.#begunMs + onItsWayMs || !this.#isSteady()) {
      if (performance.now() > untilMs) return false;
      await pause(20);
    }
    return true;
  }

  #isSteady(): boolean {
    return performance.now() - this.#answeredMs < 500;
  }

  #answered(epoch: number, atMs: number): void {
    this.#answeredMs = atMs;
    this.#firstMs ??= atMs;
    const begun = this.#begun;
    if (begun !== undefined && epoch > begun.epoch) {
      this.#begun = undefined;
      const times = this.measured.get(begun.kind) ?? [];
      this.measured.set(begun.kind, [...times, atMs - begun.atMs]);
    }
    this.#epoch = Math.max(this.#epoch, epoch);
  }
}
