import { expect } from 'vitest';
import type { OrderedLog } from '../../../src/cluster/log/ordered-log.ts';
import { encodeScanMessage } from '../../../src/cluster/scans/scan-messages.ts';
import { type ReadPosition, ScanReceiver } from '../../../src/cluster/scans/scan-receiver.ts';
import { MemoryLog, MemoryStream } from '../log/memory-log.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';

/** A core: what it keeps outlives its receivers. Times are milliseconds since the start. */
export class Fixture {
  readonly #time = new VirtualTime();
  readonly #startMs = this.#time.nowMs;
  readonly stream = new MemoryStream();
  /** What was written, byte by byte: each byte of a journal is its position. */
  readonly journals = new Map<number, { tail: number; positions: number[] }>();
  readonly writes: Array<[journal: number, position: number, bytes: number]> = [];
  readonly rewinds: Array<[journal: number, position: number, atMs: number]> = [];
  readonly missed: Array<[from: number, to: number]> = [];
  readonly saves: number[] = [];
  saved: ReadPosition = { seq: 0, tails: new Map() };
  syncs = 0;
  tailFault: Error | undefined;
  writeFault: Error | undefined;
  syncFault: Error | undefined;
  saveFault: Error | undefined;
  /** A sync takes so long. */
  syncMs = 0;
  receiver = this.start();

  start(log: OrderedLog = new MemoryLog(this.stream, this.#time.later)): ScanReceiver {
    const receiver = new ScanReceiver({
      log,
      timers: { monotonicMs: () => this.#time.nowMs, after: this.#time.later },
      sink: {
        tails: () => [...this.journals].map(([journal, { tail }]) => [journal, tail] as const),
        tail: (journal) => this.#tail(journal),
        write: (journal, position, bytes) => this.#write(journal, position, bytes),
        sync: () => this.#sync(),
      },
      saved: () => this.saved,
      save: (position) => this.#save(position),
      isOwn: (journal) => journal === 99,
      isOwner: (_, run, subject) => run === 7 && subject !== 'qz.scans.other',
      wipe: () => 0,
      onRefused: () => undefined,
      rewind: (journal, position) => void this.rewinds.push([journal, position, this.nowMs]),
      onMissed: (from, to) => void this.missed.push([from, to]),
    });
    receiver.start();
    return receiver;
  }

  get later(): VirtualTime['later'] {
    return this.#time.later;
  }

  get nowMs(): number {
    return this.#time.nowMs - this.#startMs;
  }

  async pass(ms: number): Promise<void> {
    this.#time.later(0, () => undefined);
    await this.#time.run(this.#time.nowMs + ms);
  }

  /** Bytes `from` up to `to`, behind `after`. */
  piece(journal: number, from: number, to: number, after = from, run = 7): void {
    const bytes = Uint8Array.from({ length: to - from }, (_, at) => from + at);
    this.stream.append(encodeScanMessage({ journal, run, after, from, bytes }));
  }

  #tail(journal: number): number {
    if (this.tailFault !== undefined) throw this.tailFault;
    return this.journals.get(journal)?.tail ?? 0;
  }

  #write(journal: number, position: number, bytes: Uint8Array): void {
    if (this.writeFault !== undefined) throw this.writeFault;
    const written = this.journals.get(journal) ?? { tail: 0, positions: [] };
    expect(position).toBeGreaterThanOrEqual(written.tail);
    expect([...bytes]).toEqual([...bytes].map((_, at) => (position + at) % 256));
    written.tail = position + bytes.length;
    this.journals.set(journal, written);
    this.writes.push([journal, position, bytes.length]);
  }

  async #sync(): Promise<void> {
    this.syncs++;
    await new Promise<void>((resolve) => void this.#time.later(this.syncMs, resolve));
    if (this.syncFault !== undefined) throw this.syncFault;
  }

  #save(position: ReadPosition): Promise<void> {
    if (this.saveFault !== undefined) return Promise.reject(this.saveFault);
    this.saves.push(position.seq);
    this.saved = position;
    return Promise.resolve();
  }
}
