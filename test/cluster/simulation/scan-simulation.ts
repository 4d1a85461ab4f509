/**
 * A run of one seed of the way of scans: two edges write journals, two cores receive them through one log. Edges and cores
 * die, lose power and are cut off; the log has every fault of its port and loses what it had confirmed.
 *
 * A scan is 8 bytes that are never written again, so what stands at a position says whether the position means one thing.
 */
import { type ReadPosition, ScanReceiver } from '../../../src/cluster/scans/scan-receiver.ts';
import { type JournalPiece, ScanUplink } from '../../../src/cluster/scans/scan-uplink.ts';
import { Random } from '../../torture/random.ts';
import { type LogFaults, MemoryLog, MemoryStream, noFaults } from '../log/memory-log.ts';
import { type Later, VirtualTime } from '../virtual-time.ts';
import { drawFaults } from './faults.ts';

const pieceScansMax = 16;
const faultyMs = 6_000;
/** Until what is lost without a word is sent again, twice. */
const healMsMax = 40_000;
const marksEveryMs = 1_000;

const scanBytes = 8;

interface Journal {
  /** The number of the scan at each position. */
  bytes: Map<number, number>;
  tail: number;
}
type Journals = Map<number, Journal>;

class Edge {
  readonly journal: number;
  /** All that ever stood in it, also before a loss of power. */
  readonly history = new Map<number, number>();
  bytes: Journal['bytes'] = new Map();
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

class Core {
  readonly journals: Journals = new Map();
  /** As it was when it was last synced. */
  flushed: Journals = new Map();
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

  /** Of what was not synced, some has reached the disk: anywhere, also behind what has not. */
  losePower(survives: () => boolean): void {
    for (const [journal, written] of this.journals) {
      const flushed = this.flushed.get(journal);
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

class ScanSimulation {
  readonly #random: Random;
  readonly #time = new VirtualTime();
  readonly #stream = new MemoryStream();
  readonly #edges = [new Edge(0), new Edge(1)];
  readonly #cores = [new Core(), new Core()];
  readonly faults: string[] = [];
  scans = 0;
  rewinds = 0;
  /** Scans that were lost with the power of their edge. */
  burnt = 0;
  #logFaults: LogFaults;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#logFaults = drawFaults(this.#random);
  }

  async run(): Promise<void> {
    for (const edge of this.#edges) this.#startEdge(edge);
    for (const core of this.#cores) this.#startCore(core);
    const endMs = this.#time.nowMs + faultyMs;
    const next = (): number => this.#random.next();
    this.#time.every(40, endMs, next, () => this.#scan());
    this.#time.every(this.#random.pick([150, 500, 2_000]), endMs, next, () => this.#fault());
    this.#time.every(marksEveryMs, endMs + healMsMax, next, () => this.#tellMarks());
    await this.#time.run(endMs);
    this.#heal();
    await this.#time.run(endMs + healMsMax, () => this.#isWhole());
    this.#check();
  }

  #openLog(): { log: MemoryLog; later: Later; kill: () => void } {
    const draws = this.#random.fork();
    const next = (): number => draws.next();
    const log = new MemoryLog(this.#stream, this.#time.later, next, this.#logFaults);
    let isAlive = true;
    const later = (ms: number, run: () => void): (() => void) =>
      this.#time.later(ms, () => {
        if (isAlive) run();
      });
    const kill = (): void => {
      isAlive = false;
      log.kill();
    };
    return { log, later, kill };
  }

  #startEdge(edge: Edge): void {
    if (edge.uplink !== undefined) return;
    const { log, later, kill } = this.#openLog();
    edge.run++;
    edge.log = log;
    edge.kill = kill;
    edge.uplink = new ScanUplink({
      log,
      timers: { monotonicMs: () => this.#time.nowMs, after: later },
      journal: edge.journal,
      run: edge.run,
      // What the cores have is not known at first: it sends all that it keeps.
      position: 0,
      source: {
        tail: () => edge.tail,
        read: (from, bytesMax) => this.#read(edge, from, bytesMax, later),
      },
    });
    edge.uplink.written();
  }

  #read(
    edge: Edge,
    position: number,
    bytesMax: number,
    later: Later,
  ): Promise<JournalPiece | undefined> {
    let from = position;
    while (from < edge.tail && !edge.bytes.has(from)) from += scanBytes;
    const scans: number[] = [];
    const max = Math.min(bytesMax / scanBytes, this.#random.between(1, pieceScansMax));
    for (let at = from; scans.length < max && edge.bytes.has(at); at += scanBytes) {
      scans.push(edge.bytes.get(at)!);
    }
    const bytes = Buffer.alloc(scans.length * scanBytes);
    for (const [at, scan] of scans.entries()) bytes.writeDoubleLE(scan, at * scanBytes);
    const { tail } = edge;
    return new Promise((resolve) => {
      later(this.#random.next() * 20, () => {
        edge.flushed = Math.max(edge.flushed, tail);
        resolve(scans.length === 0 ? undefined : { from, bytes });
      });
    });
  }

  #startCore(core: Core): void {
    if (core.receiver !== undefined) return;
    const { log, later, kill } = this.#openLog();
    core.log = log;
    core.kill = kill;
    core.recover();
    core.receiver = new ScanReceiver({
      log,
      timers: { monotonicMs: () => this.#time.nowMs, after: later },
      sink: {
        tails: () => [...core.journals].map(([journal, { tail }]) => [journal, tail] as const),
        tail: (journal) => core.of(journal).tail,
        write: (journal, position, bytes) => this.#write(core, journal, position, bytes),
        sync: () => this.#sync(core, later),
      },
      saved: () => core.saved,
      save: (position) => {
        core.saved = position;
        return Promise.resolve();
      },
      isOwn: () => false,
      isOwner: () => true,
      wipe: () => 0,
      onRefused: () => undefined,
      rewind: (journal, position) => this.#rewind(journal, position, later),
      onMissed: () => undefined,
    });
    core.receiver.start();
  }

  #write(core: Core, journal: number, position: number, bytes: Uint8Array): void {
    if (core.isFull) throw new Error('the disk is full');
    const written = core.of(journal);
    if (position < written.tail)
      this.faults.push(`journal ${journal} is written over at ${position}`);
    const scans = Buffer.from(bytes);
    for (let at = 0; at < scans.length; at += scanBytes) {
      written.bytes.set(position + at, scans.readDoubleLE(at));
    }
    written.tail = position + scans.length;
  }

  #sync(core: Core, later: Later): Promise<void> {
    // What is written from here on need not be there.
    const flushed = new Map(
      [...core.journals].map(([no, { bytes, tail }]) => [no, { bytes: new Map(bytes), tail }]),
    );
    return new Promise((resolve) => {
      later(this.#random.next() * 30, () => {
        core.flushed = flushed;
        resolve();
      });
    });
  }

  #rewind(journal: number, position: number, later: Later): void {
    this.rewinds++;
    if (this.#random.chance(0.3)) return;
    later(this.#random.next() * 50, () => this.#edges[journal]?.uplink?.rewind(position));
  }

  /** As cores publish it: some of it is lost. */
  #tellMarks(): void {
    for (const edge of this.#edges) {
      if (this.#random.chance(0.2)) continue;
      const lowest = Math.min(...this.#cores.map((core) => core.of(edge.journal).tail));
      edge.uplink?.arrived(lowest);
    }
  }

  #scan(): void {
    const edge = this.#random.pick(this.#edges);
    if (edge.uplink === undefined) return;
    for (let count = this.#random.pick([1, 1, 3, 20]); count > 0; count--) {
      const scan = ++this.scans;
      if (edge.history.has(edge.tail)) {
        this.faults.push(`position ${edge.tail} of ${edge.journal} is given out again`);
      }
      edge.bytes.set(edge.tail, scan);
      edge.history.set(edge.tail, scan);
      edge.tail += scanBytes;
    }
    if (this.#random.chance(0.3)) edge.flushed = edge.tail;
    edge.uplink.written();
  }

  #fault(): void {
    const random = this.#random;
    const edge = random.pick(this.#edges);
    const core = random.pick(this.#cores);
    const ms = random.pick([50, 500, 3_000]) * random.next();
    const endEdge = (how: () => void): void => {
      edge.kill();
      edge.uplink = undefined;
      how();
    };
    const endCore = (how: () => void): void => {
      core.kill();
      core.receiver = undefined;
      how();
    };
    const startEdge = (): void => this.#startEdge(edge);
    const startCore = (): void => this.#startCore(core);
    const survives = (): boolean => random.chance(0.5);
    const { log } = survives() ? edge : core;
    /** What ends after that time has an end. */
    const faults: Array<readonly [begin: () => unknown, end?: () => unknown]> = [
      [() => endEdge(() => undefined), startEdge],
      [() => endEdge(() => this.#losePower(edge)), startEdge],
      [() => endEdge(() => this.#damage(edge)), startEdge],
      [() => endCore(() => undefined), startCore],
      [() => endCore(() => core.losePower(survives)), startCore],
      [() => log?.leave(), () => log?.comeBack()],
      [() => (core.isFull = true), () => (core.isFull = false)],
      [() => this.#stream.loseAbove(Math.max(0, this.#stream.last - random.between(0, 5)))],
      [() => this.#stream.prune(Math.min(...this.#cores.map(({ saved }) => saved.seq)))],
    ];
    const [begin, end] = random.pick(faults);
    begin();
    if (end !== undefined) this.#time.later(ms, () => void end());
  }

  /** What was not flushed is gone, and its positions are given out again. */
  #losePower(edge: Edge): void {
    for (const position of edge.bytes.keys()) {
      if (position < edge.flushed) continue;
      edge.bytes.delete(position);
      edge.history.delete(position);
      this.burnt++;
    }
    edge.tail = edge.flushed;
  }

  /** The newest of what it has on its disk, and may have sent, cannot be read: a hole, as recoverJournal leaves it. */
  #damage(edge: Edge): void {
    this.#losePower(edge);
    for (let left = this.#random.between(1, 5); left > 0; left--) {
      edge.bytes.delete(edge.tail - left * scanBytes);
    }
  }

  #heal(): void {
    this.#logFaults = noFaults;
    for (const core of this.#cores) {
      core.isFull = false;
      this.#startCore(core);
    }
    for (const edge of this.#edges) this.#startEdge(edge);
    for (const { log } of [...this.#cores, ...this.#edges]) {
      log!.faults = noFaults;
      log!.comeBack();
    }
  }

  #isWhole(): boolean {
    return this.#edges.every(({ journal, bytes }) =>
      this.#cores.every((core) => [...bytes.keys()].every((at) => core.of(journal).bytes.has(at))),
    );
  }

  #check(): void {
    for (const { journal, bytes, history } of this.#edges) {
      for (const [name, core] of this.#cores.entries()) {
        const received = core.of(journal);
        const missing = [...bytes.keys()].filter((at) => !received.bytes.has(at));
        if (missing.length > 0) {
          this.faults.push(`core ${name} misses ${missing.length} scans of journal ${journal}`);
        }
        for (const [position, scan] of received.bytes) {
          if (history.get(position) === scan) continue;
          this.faults.push(`position ${position} of journal ${journal} is another on core ${name}`);
        }
      }
    }
  }
}

export async function simulateScans(seed: number) {
  const simulation = new ScanSimulation(seed);
  await simulation.run();
  const { faults, scans, rewinds, burnt } = simulation;
  return { faults, scans, rewinds, burnt };
}
