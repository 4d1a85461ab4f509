/** The machines of scan-simulation.ts, and what stands on their disks. */
import type { ScanReceiver } from '../../../src/cluster/scans/scan-receiver.ts';
import type { ScanUplink } from '../../../src/cluster/scans/scan-uplink.ts';
import type { FaultyLog } from '../log/faulty-log.ts';

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
  log: FaultyLog | undefined;
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
  saved = 0;
  receiver: ScanReceiver | undefined;
  log: FaultyLog | undefined;
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

  losePower(): void {
    this.journals.clear();
    for (const [journal, written] of copyOf(this.#flushed)) this.journals.set(journal, written);
  }
}

export const copyOf = (journals: Journals): Journals =>
  new Map([...journals].map(([key, { bytes, tail }]) => [key, { bytes: new Map(bytes), tail }]));
