/** A core that receives journals, in virtual time; it saves how far it read each second (src/cluster/scans/scan-receiver.ts). */
import { describe, expect, it } from 'vitest';
import { encodeScanMessage } from '../../../src/cluster/scans/scan-messages.ts';
import { type ReadPosition, ScanReceiver } from '../../../src/cluster/scans/scan-receiver.ts';
import { MemoryLog, MemoryStream } from '../log/memory-log.ts';
import { Played, type Steps } from '../virtual-time.ts';

type Failing = 'write' | 'sync' | 'save';

/**
 * A core; its journals and what it saved outlive its receivers. Each byte of a journal is its position, modulo 256. The
 * trace has each write (`0: 10-30` of journal 0), each question to an edge (`asks 0: 10`), what the log has removed
 * (`missed 2-3`), and what is saved: the entry, and the tails of the journals.
 */
class Core extends Played {
  readonly #stream = new MemoryStream();
  readonly #tails = new Map<number, number>();
  readonly #failing = new Set<Failing>();
  #saved: ReadPosition = { seq: 0, tails: new Map() };
  #subject: string | undefined;
  #syncMs = 0;
  #boundsMs = 0;
  #syncs = 0;
  #receiver = this.#start();

  #start(): ScanReceiver {
    const { timers, time } = this;
    const log = new MemoryLog(this.#stream, time.later);
    const receiver = new ScanReceiver({
      log: Object.assign(log, {
        bounds: async () => {
          const bounds = await MemoryLog.prototype.bounds.call(log);
          const ms = this.#boundsMs;
          if (ms > 0) await new Promise<void>((resolve) => void time.later(ms, resolve));
          return bounds;
        },
        follow: (from: number, reader: Parameters<MemoryLog['follow']>[1]) =>
          MemoryLog.prototype.follow.call(log, from, {
            entry: (seq, body, atMs) => reader.entry(seq, body, atMs, this.#subject),
            ended: (error) => reader.ended(error),
          }),
      }),
      timers,
      sink: {
        tails: () => this.#tails,
        tail: (journal) => this.#tail(journal),
        write: (journal, position, bytes) => this.#write(journal, position, bytes),
        sync: () => this.#sync(),
      },
      saved: () => this.#saved,
      save: (position) => this.#save(position),
      isOwn: (journal) => journal === 99,
      isOwner: (_, run, subject) => run === 7 && subject !== 'other',
      wipe: () => 0,
      onRefused: () => undefined,
      rewind: (journal, position) => this.note(`asks ${journal}: ${position}`),
      onMissed: (from, to) => this.note(`missed ${from}-${to}`),
    });
    receiver.start();
    return receiver;
  }

  #fail(what: Failing): void {
    if (this.#failing.has(what)) throw new Error(`cannot ${what}`);
  }

  #tail(journal: number): number {
    return this.#tails.get(journal) ?? 0;
  }

  #write(journal: number, position: number, bytes: Uint8Array): void {
    this.#fail('write');
    expect(position).toBeGreaterThanOrEqual(this.#tails.get(journal) ?? 0);
    expect([...bytes]).toEqual([...bytes].map((_, at) => (position + at) % 256));
    this.#tails.set(journal, position + bytes.length);
    this.note(`${journal}: ${position}-${position + bytes.length}`);
  }

  async #sync(): Promise<void> {
    this.#syncs++;
    await new Promise<void>((resolve) => void this.time.later(this.#syncMs, resolve));
    this.#fail('sync');
  }

  async #save(position: ReadPosition): Promise<void> {
    await Promise.resolve();
    this.#fail('save');
    this.#saved = position;
    const tails = [...position.tails].map(([journal, tail]) => `${journal}:${tail}`);
    this.note(`saves ${position.seq} ${tails.join(' ')}`.trim());
  }

  readonly #steps: Steps = {
    piece: (...words) => {
      const [journal, from, to, after = from, run = 7] = words.map(Number) as [
        number,
        number,
        number,
      ];
      const bytes = Uint8Array.from({ length: to - from }, (_, at) => from + at);
      this.#stream.append(encodeScanMessage({ journal, run, after, from, bytes }));
    },
    senseless: () => this.#stream.append(Buffer.from('no piece')),
    subject: (subject) => (this.#subject = subject),
    stop: () => this.#receiver.stop(),
    restart: () => {
      this.#receiver.stop();
      this.#receiver = this.#start();
    },
    lose: (above) => this.#stream.loseAbove(Number(above)),
    prune: (below) => this.#stream.prune(Number(below)),
    fails: (what) => this.#failing.add(what as Failing),
    works: (what) => this.#failing.delete(what as Failing),
    syncs: (ms) => (this.#syncMs = Number(ms)),
    /** Brokers answer so late about the log's end. */
    late: (ms) => (this.#boundsMs = Number(ms)),
    /** What is saved was read. */
    compare: () => {
      const { readSeq, savedSeq } = this.#receiver;
      if (readSeq < savedSeq) this.note(`set back to ${readSeq}`);
    },
    tail: (journal, tail) => this.#tails.set(Number(journal), Number(tail)),
    empty: () => this.#tails.clear(),
    fault: () => this.note(`${this.#receiver.fault}`),
  };

  /** @returns the trace; the entries that were read and saved, those that are behind, the syncs, a fault */
  async run(script: string): Promise<string> {
    const trace = await this.play(script, this.#steps);
    const { readSeq, savedSeq, behind, fault } = this.#receiver;
    return `${trace}; ${readSeq} ${savedSeq} ${behind} ${this.#syncs} ${fault ?? ''}`.trim();
  }
}

const scripts: Record<string, Record<string, [script: string, trace: string]>> = {
  'a piece': {
    'counts once: what is known is dropped, and only the rest of it written': [
      '0 piece 0 0 30 + piece 0 0 30 + piece 0 10 30 + piece 0 10 25 + piece 0 20 50 + piece 1 0 5 + piece 0 50 60, 100',
      '0 0: 0-30, 0 0: 30-50, 0 1: 0-5, 0 0: 50-60; 7 0 0 0',
    ],
    'behind a hole of its journal is written where it belongs': [
      '0 piece 0 40 50 0 + piece 0 100 120 50 + piece 0 100 130 70 + piece 0 200 210 110, 100',
      '0 0: 40-50, 0 0: 100-120, 0 0: 120-130, 0 0: 200-210; 4 0 0 0',
    ],
    'of another run, or without sense, is dropped': [
      '0 piece 0 0 30 0 6 + piece 0 0 30 0 8 + senseless + piece 0 0 20, 1100',
      '0 0: 0-20, 1000 saves 4 0:20; 4 4 0 1',
    ],
    'that came by the subject of another node is dropped': [
      '0 subject other + piece 0 0 30, 50 subject own + piece 0 0 30, 100',
      '50 0: 0-30; 2 0 0 0',
    ],
    'of a journal of this machine is passed over': [
      '0 piece 99 0 10 + piece 99 50 60 50 6, 1100',
      '1000 saves 2; 2 2 0 1',
    ],
  },
  'a missing piece': {
    'is asked for once a second for each journal, from where the journal ends': [
      '0 piece 0 0 10, 100 piece 0 11 20 + piece 0 20 30, 600 piece 0 30 40 + piece 1 5 6, 1099 piece 0 40 50, 1100 piece 0 50 60, 1110 piece 0 10 60, 1120 piece 0 70 80, 3120 piece 0 80 90, 3130',
      '0 0: 0-10, 100 asks 0: 10, 600 asks 1: 0, 1000 saves 5 0:10, 1100 asks 0: 10, 1110 0: 10-60, 2000 saves 9 0:60, 3120 asks 0: 60; 10 9 0 2',
    ],
    'is asked for again only when all is read that the log had then': [
      '0 piece 0 0 10, 1500 stop + prune 2 + piece 0 20 30 + piece 0 30 40 + piece 0 40 50 + fails write + piece 1 0 10 + piece 0 50 60 + restart, 6500 works write, 8500 piece 0 60 70, 10000',
      '0 0: 0-10, 1000 saves 1 0:10, 1500 asks 0: 10, 2500 saves 4 0:10, 7500 1: 0-10, 8500 saves 6 0:10 1:10, 8500 asks 0: 10, 9500 saves 7 0:10 1:10; 7 7 0 4',
    ],
  },
  'how far the log was read': {
    'is not saved while the disk or the store refuses, which is a fault': [
      '0 piece 0 0 10 + fails sync, 2500 fault + piece 0 10 20, 2600 fault + works sync + fails save, 3600 fault + works save, 4600',
      '0 0: 0-10, 2500 cannot sync, 2500 0: 10-20, 2600 cannot sync, 3600 cannot save, 4000 saves 2 0:20; 2 2 0 4',
    ],
    'is saved with how far each journal was on the disk, also one that is not there now': [
      '0 syncs 300 + piece 0 0 10 + piece 1 0 5, 1100 piece 0 10 30, 1400 stop + empty + tail 0 10 + restart, 2900',
      '0 0: 0-10, 0 1: 0-5, 1100 0: 10-30, 1300 saves 2 0:10 1:5, 1400 0: 10-30, 2700 saves 3 0:30 1:5; 3 3 0 2',
    ],
  },
  'a disk that refuses': {
    'a write is tried again each second, from the same entry': [
      '0 piece 0 0 10, 100 fails write + piece 0 10 20 + piece 0 20 30, 2200 fault + works write, 4150',
      '0 0: 0-10, 1000 saves 1 0:10, 2200 cannot write, 3100 0: 10-20, 3100 0: 20-30, 4000 saves 3 0:30; 3 3 0 2',
    ],
  },
  'a log': {
    'that lost all and has grown since then is read from its beginning': [
      '0 piece 0 0 10 + piece 0 10 20 + piece 0 20 30, 1500 stop + lose 0 + piece 0 30 40 + restart, 3000',
      '0 0: 0-10, 0 0: 10-20, 0 0: 20-30, 1000 saves 3 0:30, 1500 0: 30-40, 2500 saves 1 0:40; 1 1 0 2',
    ],
    'that was pruned is read from its beginning; what was missed is named once': [
      '0 piece 0 0 10, 1500 stop + piece 0 10 20 + piece 0 20 30 + piece 0 30 40 + piece 0 40 50 + prune 4 + restart, 5000 prune 6, 8500 restart, 12000 piece 0 10 50, 13100',
      '0 0: 0-10, 1000 saves 1 0:10, 1500 missed 2-3, 1500 asks 0: 10, 2500 saves 5 0:10, 12000 0: 10-50, 12500 saves 6 0:50; 6 6 0 3',
    ],
  },
  'a receiver that is stopped reads and saves nothing more': {
    'during a sync': [
      '0 syncs 300 + piece 0 0 10, 1100 stop + piece 0 10 20, 11100',
      '0 0: 0-10; 1 0 0 1',
    ],
  },
};

it('a log whose end comes late, below entries that came meanwhile, has lost nothing', async () => {
  const pieces = Array.from({ length: 40 }, (_, no) => {
    const piece = `${100 * no} piece 0 ${10 * no} ${10 * no + 10}`;
    return `${piece}, ${100 * no + 99} compare`;
  });
  const trace = await new Core().run(`0 late 150 + restart, ${pieces.join(', ')}, 6000`);
  expect(trace).not.toContain('set back');
  expect(trace).toMatch(/saves 40 0:400; 40 40 0 \d+$/);
});

describe.each(Object.entries(scripts))('%s', (_, cases) => {
  it.each(Object.entries(cases))('%s', async (_name, [script, trace]) => {
    expect(await new Core().run(script)).toBe(trace);
  });
});
