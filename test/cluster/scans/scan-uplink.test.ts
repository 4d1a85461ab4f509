import { describe, expect, it } from 'vitest';
import type { OrderedLog } from '../../../src/cluster/log/ordered-log.ts';
import { readScanMessage } from '../../../src/cluster/scans/scan-messages.ts';
import { type JournalPiece, ScanUplink } from '../../../src/cluster/scans/scan-uplink.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';

const pieceBytesMax = 262_144;

/** A journal and a log in the hands of the test. Times are milliseconds since the start. */
class Fixture {
  readonly #time = new VirtualTime();
  readonly #startMs = this.#time.nowMs;
  tail = 0;
  /** What stands below was pruned. */
  first = 0;
  readMs = 0;
  readFault: Error | undefined;
  appendFault: Error | undefined;
  /** Answers to appends wait here while there is a list. */
  held: Array<(error?: Error) => void> | undefined;
  readonly reads: number[] = [];
  readonly sent: Array<{ after: number; from: number; to: number; atMs: number }> = [];
  readonly uplink: ScanUplink;

  constructor(position = 0) {
    const unused = (): never => {
      throw new Error('not asked for');
    };
    const log: OrderedLog = {
      append: (body) => this.#append(body),
      follow: unused,
      bounds: unused,
      prune: unused,
      close: unused,
    };
    this.uplink = new ScanUplink({
      log,
      timers: { monotonicMs: () => this.#time.nowMs, after: this.#time.later },
      journal: 3,
      run: 7,
      source: { tail: () => this.tail, read: (from, max) => this.#read(from, max) },
      position,
    });
  }

  get nowMs(): number {
    return this.#time.nowMs - this.#startMs;
  }

  write(bytes: number): void {
    this.tail += bytes;
    this.uplink.written();
  }

  async pass(ms: number): Promise<void> {
    this.#time.later(0, () => undefined);
    await this.#time.run(this.#time.nowMs + ms);
  }

  async #read(position: number, bytesMax: number): Promise<JournalPiece | undefined> {
    this.reads.push(position);
    if (this.readMs > 0) {
      await new Promise<void>((resolve) => void this.#time.later(this.readMs, resolve));
    }
    if (this.readFault !== undefined) throw this.readFault;
    const from = Math.max(position, this.first);
    if (from >= this.tail) return undefined;
    return { from, bytes: new Uint8Array(Math.min(bytesMax, this.tail - from)) };
  }

  #append(body: Uint8Array): Promise<number> {
    const { journal, run, after, from, bytes } = readScanMessage(body)!;
    expect([journal, run]).toEqual([3, 7]);
    this.sent.push({ after, from, to: from + bytes.length, atMs: this.nowMs });
    if (this.held === undefined) {
      return this.appendFault === undefined ? Promise.resolve(1) : Promise.reject(this.appendFault);
    }
    return new Promise((resolve, reject) => {
      this.held!.push((error) => (error === undefined ? resolve(1) : reject(error)));
    });
  }

  get sentMs(): number[] {
    return this.sent.map(({ atMs }) => atMs);
  }
  get ranges(): Array<[number, number]> {
    return this.sent.map(({ from, to }) => [from, to]);
  }
}

describe('a piece is sent', () => {
  it('10 ms after the first of it was written, whatever comes meanwhile', async () => {
    const own = new Fixture();
    own.write(100);
    await own.pass(6);
    own.write(50);
    await own.pass(3);
    expect(own.sent).toEqual([]);
    await own.pass(1);
    expect(own.sent).toEqual([{ after: 0, from: 0, to: 150, atMs: 10 }]);
    expect([own.uplink.position, own.uplink.backlogBytes]).toEqual([150, 0]);
    await own.pass(100);
    own.write(1);
    await own.pass(10);
    expect(own.sentMs).toEqual([10, 120]);
  });

  it('at once when 64 KB wait', async () => {
    const own = new Fixture();
    own.write(65_535);
    await own.pass(5);
    expect(own.sent).toEqual([]);
    own.write(1);
    await own.pass(0);
    expect(own.sentMs).toEqual([5]);
    await own.pass(100);
    expect(own.reads).toEqual([0]);
  });

  it('when the one before it is acknowledged, not before', async () => {
    const own = new Fixture();
    own.held = [];
    own.write(65_536);
    await own.pass(1);
    own.write(100_000);
    await own.pass(3_000);
    expect(own.ranges).toEqual([[0, 65_536]]);
    expect(own.uplink.backlogBytes).toBe(165_536);
    own.held.shift()!();
    await own.pass(0);
    expect(own.ranges.at(-1)).toEqual([65_536, 165_536]);
    own.write(5);
    own.held.shift()!();
    await own.pass(9);
    expect(own.sent.length).toBe(2);
    await own.pass(1);
    expect(own.ranges.at(-1)).toEqual([165_536, 165_541]);
  });

  it('in parts of 256 KB, from what the cores have on', async () => {
    const own = new Fixture(1_000);
    own.write(1_000);
    await own.pass(20);
    expect(own.sent).toEqual([]);
    own.write(600_000);
    await own.pass(20);
    expect(own.ranges).toEqual([
      [1_000, 1_000 + pieceBytesMax],
      [1_000 + pieceBytesMax, 1_000 + 2 * pieceBytesMax],
      [1_000 + 2 * pieceBytesMax, 601_000],
    ]);
    expect(own.sent.map(({ after }) => after)).toEqual(own.sent.map(({ from }) => from));
  });
});

describe('a piece that is refused', () => {
  it('is sent again after 50 ms, and twice as long each time up to 2 s', async () => {
    const own = new Fixture();
    own.appendFault = new Error('away');
    own.write(70_000);
    await own.pass(5);
    expect(own.uplink.fault).toBe('away');
    own.write(70_000);
    await own.pass(7_145);
    const waits = own.sentMs.slice(1).map((ms, at) => ms - own.sentMs[at]!);
    expect(waits).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
    own.appendFault = undefined;
    await own.pass(2_000);
    expect(own.ranges.at(-1)).toEqual([0, 140_000]);
    expect([own.uplink.fault, own.uplink.position]).toEqual([undefined, 140_000]);
    own.appendFault = new Error('away');
    own.write(70_000);
    await own.pass(0);
    const count = own.sent.length;
    await own.pass(49);
    expect(own.sent.length).toBe(count);
    await own.pass(1);
    expect(own.sent.length).toBe(count + 1);
  });

  it.each([100, 70_000])('is not sent earlier for what was written: %i bytes', async (bytes) => {
    const own = new Fixture();
    own.appendFault = new Error('away');
    own.write(100);
    await own.pass(5);
    own.write(bytes);
    await own.pass(5);
    const [firstMs] = own.sentMs;
    own.write(70_000);
    await own.pass(firstMs! + 50 - own.nowMs);
    expect(own.sentMs).toEqual([firstMs, firstMs! + 50]);
  });

  it('is the same where the journal cannot be read, or has nothing there yet', async () => {
    for (const fault of [new Error('EIO'), undefined]) {
      const own = new Fixture();
      own.readFault = fault;
      own.tail = 100;
      own.first = 500;
      own.uplink.written();
      await own.pass(160);
      expect(own.reads).toEqual([0, 0, 0]);
      expect(own.uplink.fault).toBe(fault?.message ?? 'nothing can be read behind 0');
      own.readFault = undefined;
      own.tail = 600;
      await own.pass(200);
      expect(own.sent).toEqual([{ after: 0, from: 500, to: 600, atMs: 360 }]);
      expect([own.uplink.fault, own.uplink.position]).toEqual([undefined, 600]);
    }
  });
});

describe('a core that asks to go back', () => {
  it('gets all behind it again, soon; one that asks for what comes anyway changes nothing', async () => {
    const own = new Fixture();
    own.write(70_000);
    await own.pass(1);
    own.uplink.rewind(70_000);
    own.uplink.rewind(90_000);
    await own.pass(100);
    expect([own.sent.length, own.uplink.position]).toEqual([1, 70_000]);
    own.uplink.rewind(69_000);
    await own.pass(10);
    expect(own.ranges.at(-1)).toEqual([69_000, 70_000]);
  });

  it('gets it also while a piece is under way', async () => {
    const own = new Fixture();
    own.write(70_000);
    await own.pass(1);
    own.held = [];
    own.write(70_000);
    await own.pass(1);
    own.uplink.rewind(70_000);
    own.uplink.rewind(10_000);
    own.uplink.rewind(20_000);
    await own.pass(50);
    expect([own.sent.length, own.uplink.position]).toEqual([2, 10_000]);
    own.held.shift()!();
    await own.pass(10);
    expect(own.ranges.slice(2)).toEqual([[10_000, 140_000]]);
    own.uplink.rewind(0);
    own.held.shift()!(new Error('away'));
    await own.pass(50);
    expect(own.ranges.slice(3)).toEqual([[0, 140_000]]);
  });

  it('gets a hole where it was pruned', async () => {
    const own = new Fixture();
    own.write(70_000);
    await own.pass(1);
    own.first = 60_000;
    own.uplink.rewind(5_000);
    await own.pass(10);
    expect(own.sent.at(-1)).toMatchObject({ after: 5_000, from: 60_000, to: 70_000 });
    expect(own.uplink.position).toBe(70_000);
  });

  it('gets it while pieces are refused, at the next try', async () => {
    const own = new Fixture(100);
    own.appendFault = new Error('away');
    own.write(70_000);
    await own.pass(1);
    own.appendFault = undefined;
    own.uplink.rewind(40);
    await own.pass(48);
    expect(own.sent.length).toBe(1);
    await own.pass(1);
    expect(own.ranges.slice(1)).toEqual([[40, 70_000]]);
  });
});

describe('what is acknowledged and does not arrive', () => {
  const everySecond = async (own: Fixture, position: number, seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      own.uplink.arrived(position);
      await own.pass(1_000);
    }
  };

  it('is sent again 5 s after a core was seen behind it, then after twice as long each time', async () => {
    const own = new Fixture();
    // Nothing to lag behind.
    await everySecond(own, 0, 20);
    own.write(70_000);
    await own.pass(0);
    expect(own.sent.length).toBe(1);
    await everySecond(own, 0, 5);
    expect(own.sent.length).toBe(1);
    await everySecond(own, 0, 1);
    expect(own.ranges).toEqual([
      [0, 70_000],
      [0, 70_000],
    ]);
    await everySecond(own, 0, 10);
    expect(own.sent.length).toBe(2);
    await everySecond(own, 0, 1);
    expect(own.sent.length).toBe(3);
    // One step, and the next loss is noticed as soon as the first.
    await everySecond(own, 10, 5);
    expect(own.sent.length).toBe(3);
    await everySecond(own, 10, 1);
    expect(own.ranges.at(-1)).toEqual([10, 70_000]);
  });

  it('is sent again every 10 minutes at most', async () => {
    const own = new Fixture();
    own.write(70_000);
    await everySecond(own, 0, 4_000);
    const waits = own.sentMs.slice(1).map((ms, at) => Math.floor((ms - own.sentMs[at]!) / 5_000));
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 120, 120, 120, 120, 120]);
  });

  it('is not lost while cores move, or since a mark that was lost itself', async () => {
    const own = new Fixture();
    own.write(70_000);
    await own.pass(1);
    for (let at = 0; at < 20; at++) {
      own.uplink.arrived(at);
      await own.pass(4_000);
    }
    own.uplink.arrived(70_000);
    await own.pass(60_000);
    own.write(70_000);
    await own.pass(1);
    own.uplink.arrived(70_000);
    await own.pass(1_000);
    expect(own.ranges).toEqual([
      [0, 70_000],
      [70_000, 140_000],
    ]);
  });

  it('is waited for anew where a core has asked for it itself', async () => {
    const own = new Fixture();
    own.write(70_000);
    await everySecond(own, 10, 4);
    own.uplink.rewind(10);
    await own.pass(1);
    await everySecond(own, 10, 5);
    expect(own.sent.length).toBe(2);
    await everySecond(own, 10, 2);
    expect(own.sent.length).toBe(3);
  });
});

describe('one that is stopped sends nothing more', () => {
  it('while it waits for more to be written', async () => {
    const own = new Fixture();
    own.write(100);
    own.uplink.stop();
    own.write(100_000);
    own.uplink.arrived(0);
    await own.pass(10_000);
    expect(own.reads).toEqual([]);
  });

  it('while it reads', async () => {
    const own = new Fixture();
    own.readMs = 20;
    own.write(70_000);
    await own.pass(10);
    own.uplink.stop();
    await own.pass(10_000);
    expect([own.reads, own.sent]).toEqual([[0], []]);
  });

  it.each([undefined, new Error('away')])('while it waits for an answer: %s', async (error) => {
    const own = new Fixture();
    own.held = [];
    own.write(70_000);
    await own.pass(10);
    own.uplink.stop();
    own.write(70_000);
    own.held.shift()!(error);
    await own.pass(10_000);
    own.uplink.rewind(0);
    await own.pass(10_000);
    expect([own.reads, own.sent.length]).toEqual([[0], 1]);
  });

  it('while it waits to try again', async () => {
    const own = new Fixture();
    own.appendFault = new Error('away');
    own.write(70_000);
    await own.pass(10);
    own.uplink.stop();
    await own.pass(10_000);
    expect(own.reads).toEqual([0]);
  });
});
