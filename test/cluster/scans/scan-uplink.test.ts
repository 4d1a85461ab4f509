/** The way of one journal to the log, in virtual time (src/cluster/scans/scan-uplink.ts). */
import { describe, expect, it } from 'vitest';
import { readScanMessage } from '../../../src/cluster/scans/scan-messages.ts';
import { type JournalPiece, ScanUplink } from '../../../src/cluster/scans/scan-uplink.ts';
import { Played, type Steps } from '../virtual-time.ts';

/** A journal and a log that the script decides. The trace has each piece that is sent: `10 sends 0-150`. */
class Edge extends Played {
  #tail = 0;
  /** What lies below was pruned. */
  #first = 0;
  #reads = 0;
  #isReadable = true;
  #log: 'takes' | 'refuses' | 'holds' = 'takes';
  #held: Array<(isTaken: boolean) => void> = [];
  #uplink = this.#open(0);

  #open(position: number): ScanUplink {
    return new ScanUplink({
      log: { append: (body) => this.#append(body) },
      timers: this.timers,
      journal: 3,
      run: 7,
      source: { tail: () => this.#tail, read: (from, max) => this.#read(from, max) },
      position,
    });
  }

  async #read(position: number, bytesMax: number): Promise<JournalPiece | undefined> {
    this.#reads++;
    if (!this.#isReadable) throw new Error('EIO');
    const from = Math.max(position, this.#first);
    if (from >= this.#tail) return undefined;
    return { from, bytes: new Uint8Array(Math.min(bytesMax, this.#tail - from)) };
  }

  #append(body: Uint8Array): Promise<number> {
    const { journal, run, after, from, bytes } = readScanMessage(body)!;
    expect([journal, run]).toEqual([3, 7]);
    const hole = after === from ? '' : ` after ${after}`;
    this.note(`sends ${from}-${from + bytes.length}${hole}`);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const answer = (isTaken: boolean): void => (isTaken ? resolve(1) : reject(new Error('away')));
    if (this.#log === 'holds') this.#held.push(answer);
    else answer(this.#log === 'takes');
    return promise;
  }

  readonly #steps: Steps = {
    begin: (position) => (this.#uplink = this.#open(Number(position))),
    write: (bytes) => {
      this.#tail += Number(bytes);
      this.#uplink.written();
    },
    tail: (tail) => (this.#tail = Number(tail)),
    first: (first) => (this.#first = Number(first)),
    unreadable: () => (this.#isReadable = false),
    readable: () => (this.#isReadable = true),
    log: (how) => (this.#log = how as 'takes' | 'refuses' | 'holds'),
    take: () => this.#held.shift()!(true),
    refuse: () => this.#held.shift()!(false),
    rewind: (position) => this.#uplink.rewind(Number(position)),
    arrived: (position) => this.#uplink.arrived(Number(position)),
    /** A mark each second. */
    marks: async (position, seconds) => {
      for (let second = 0; second < Number(seconds); second++) {
        this.#uplink.arrived(Number(position));
        await this.until(this.nowMs + 1_000);
      }
    },
    state: () => {
      const { position, backlogBytes, fault } = this.#uplink;
      this.note(`at ${position}, ${backlogBytes} wait${fault ? `: ${fault}` : ''}`);
    },
  };

  /** @returns the trace; the position, the bytes that wait, how often the journal was read, a fault */
  async run(script: string): Promise<string> {
    const trace = await this.play(script, this.#steps);
    const { position, backlogBytes, fault } = this.#uplink;
    return `${trace}; ${position} ${backlogBytes} ${this.#reads} ${fault ?? ''}`.trim();
  }
}

const scripts: Record<string, Record<string, [script: string, trace: string]>> = {
  'a piece is sent': {
    '10 ms after the first of it was written, whatever comes meanwhile': [
      '0 write 100, 6 write 50, 110 write 1, 120',
      '10 sends 0-150, 120 sends 150-151; 151 0 2',
    ],
    'at once when 64 KB wait': ['0 write 65535, 5 write 1, 105', '5 sends 0-65536; 65536 0 1'],
    'when the former one is acknowledged, not before': [
      '0 log holds + write 65536, 1 write 100000, 3001 state + take, 3001 write 5 + take, 3012',
      '0 sends 0-65536, 3001 at 0, 165536 wait, 3001 sends 65536-165536, 3011 sends 165536-165541; 165536 5 3',
    ],
    'in parts of 256 KB, from what the cores have on': [
      '0 begin 1000 + write 1000, 20 write 600000, 40',
      '20 sends 1000-263144, 20 sends 263144-525288, 20 sends 525288-601000; 601000 0 3',
    ],
    'not where the cores had it before this process began': [
      '0 tail 600 + arrived 100 + write 0, 1000',
      '10 sends 100-600; 600 0 1',
    ],
    'although cores have more of the number of this journal than it has': [
      '0 write 600, 1000 arrived 5000 + write 50, 2000',
      '10 sends 0-600, 1010 sends 600-650; 650 0 2',
    ],
  },
  'a refused piece': {
    'is sent again after 50 ms, and twice as long each time up to 2 s': [
      '0 log refuses + write 70000, 5 state + write 70000, 7150 log takes, 9150 log refuses + write 70000, 9200',
      '0 sends 0-70000, 5 at 0, 70000 wait: away, 50 sends 0-140000, 150 sends 0-140000, 350 sends 0-140000, 750 sends 0-140000, 1550 sends 0-140000, 3150 sends 0-140000, 5150 sends 0-140000, 7150 sends 0-140000, 9150 sends 0-140000, 9150 sends 140000-210000, 9200 sends 140000-210000; 140000 70000 12 away',
    ],
    'is not sent earlier for what is written: a little': [
      '0 log refuses + write 100, 15 write 100, 20 write 70000, 60',
      '10 sends 0-100, 60 sends 0-70200; 0 70200 2 away',
    ],
    'is one that is not there yet; a hole is named': [
      '0 first 500 + tail 100 + write 0, 160 state + tail 600, 360',
      '160 at 0, 100 wait: nothing can be read behind 0, 360 sends 500-600 after 0; 600 0 4',
    ],
  },
  'a core that asks to go back': {
    'gets all that follows again, soon; one that asks for what comes changes nothing': [
      '0 write 70000, 1 rewind 70000 + rewind 90000, 101 state + rewind 69000, 111',
      '0 sends 0-70000, 101 at 70000, 0 wait, 111 sends 69000-70000; 70000 0 2',
    ],
    'gets it also while a piece is under way': [
      '0 write 70000, 1 log holds + write 70000, 2 rewind 70000 + rewind 10000 + rewind 20000, 52 state + take, 62 rewind 0 + refuse, 112',
      '0 sends 0-70000, 1 sends 70000-140000, 52 at 10000, 130000 wait, 52 sends 10000-140000, 112 sends 0-140000; 0 140000 4',
    ],
  },
  'what is acknowledged and does not arrive': {
    'is sent again every 10 minutes at most': [
      '0 write 70000 + marks 0 4000, 4000000',
      '0 sends 0-70000, 6000 sends 0-70000, 17000 sends 0-70000, 38000 sends 0-70000, 79000 sends 0-70000, 160000 sends 0-70000, 321000 sends 0-70000, 642000 sends 0-70000, 1243000 sends 0-70000, 1844000 sends 0-70000, 2445000 sends 0-70000, 3046000 sends 0-70000, 3647000 sends 0-70000; 70000 0 13',
    ],
    'is not lost while cores move, or since a mark that was lost': [
      '0 write 70000, 1 arrived 0, 4001 arrived 1, 8001 arrived 2, 12001 arrived 3, 16001 arrived 70000, 76001 write 70000, 76002 arrived 70000, 77002',
      '0 sends 0-70000, 76001 sends 70000-140000; 140000 0 2',
    ],
    'is waited for from the start where a core has asked for it itself': [
      '0 write 70000 + marks 10 4, 4000 rewind 10, 4001 marks 10 7, 11001',
      '0 sends 0-70000, 4000 sends 10-70000, 9001 sends 10-70000; 70000 0 3',
    ],
  },
};

describe.each(Object.entries(scripts))('%s', (_, cases) => {
  it.each(Object.entries(cases))('%s', async (_name, [script, trace]) => {
    expect(await new Edge().run(script)).toBe(trace);
  });
});
