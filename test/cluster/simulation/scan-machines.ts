/** The machines of scan-simulation.ts, and what stands on their disks. */
import type { ReadPosition, ScanReceiver } from '../../../src/cluster/scans/scan-receiver.ts';
import type { ScanUplink } from '../../../src/cluster/scans/scan-uplink.ts';
import type { MemoryLog } from '../log/memory-log.ts';

export const scanBytes = 8;

/** The number of the scan at each position of a journal. */
type Bytes = Map<number, number>;

interface Journal {
  bytes: Bytes;
  tail: number;
}
type Journals = Map<number, Journal>;

export class Edge {
  readonly journal: number;
  /** All that ever stood in it, also before a loss of power. */
  readonly history = new Map<number, number>();
  bytes: Bytes = new Map();
  tail = 0;
  flushed = 0;
  run = 0;
  uplink: ScanUplink | undefined;
  log: MemoryLog | undefined;
  /** Ends what a dead process had asked for. */
  kill: () => void = () => undefined;

  constructor(journal: number) {
    this.journal = journal;
  }
}

export class Core {
  readonly journals: Journals = new Map();
  /** As it was when it was last synced. */
  #flushed: Journals = new Map();
  saved: ReadPosition = { seq: 0, tails: new Map() };
  receiver: ScanReceiver | undefined;
  log: MemoryLog | undefined;
  isFull = false;
  kill: () => void = () => undefined;

  of(journal: number): Journal {
    const known = this.journals.get(journal);
    if (known !== undefined) return known;
    const made = { bytes: new Map<number, number>(), tail: 0 };
    this.journals.set(journal, made);
    return made;
  }

  flush(): void {
    this.#flushed = copyOf(this.journals);
  }

  /** Of what was not synced, some has reached the disk: anywhere, also behind what has not. */
  losePower(survives: () => boolean): void {
    for (const [journal, written] of this.journals) {
      const flushed = this.#flushed.get(journal);
      for (const position of written.bytes.keys()) {
        if (flushed?.bytes.has(position) !== true && !survives()) written.bytes.delete(position);
      }
      const ends = [...written.bytes.keys()].map((position) => position + scanBytes);
      written.tail = Math.max(flushed?.tail ?? 0, ...ends);
    }
  }

  /** As recoverJournal does at each start. */
  recover(): void {
    for (const [journal, written] of this.journals) {
      written.tail = Math.min(written.tail, this.saved.tails.get(journal) ?? 0);
      for (const position of written.bytes.keys()) {
        if (position >= written.tail) written.bytes.delete(position);
      }
    }
  }
}

export const copyOf = (journals: Journals): Journals =>
  new Map([...journals].map(([key, { bytes, tail }]) => [key, { bytes: new Map(bytes), tail }]));
