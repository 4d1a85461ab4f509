/** One machine's side of a replicated store, in virtual time: the lease is 10 s, a beat follows every 4 s. */
import { describe, expect, it } from 'vitest';
import { emptyPosition, type LogPosition } from '../../../src/cluster/log/applier.ts';
import { chainBytes, encodeWrites, readEntry } from '../../../src/cluster/log/entry.ts';
import type { OrderedLog } from '../../../src/cluster/log/ordered-log.ts';
import { LogReplicator } from '../../../src/cluster/log/replicator.ts';
import { messageOf } from '../../../src/model/failure.ts';
import { packPlain } from '../../../src/store/codec.ts';
import type { StoredWrite } from '../../../src/store/replicated-transactions.ts';
import { Played, type Steps } from '../virtual-time.ts';
import { leadOf, LogWriter } from './log-writer.ts';
import { MemoryLog, MemoryStream, noFaults } from './memory-log.ts';

const writesOf = (key: string): StoredWrite[] => [['numbers', key, Buffer.from('1')]];
const large = encodeWrites([['numbers', 'large', Buffer.alloc(8 * 1_048_576)]], Infinity)[0]!;

/**
 * The trace has what the machine appends and stores, its events, and how each write and release ends; `tx+` is the same entry
 * again.
 */
class Machine extends Played {
  readonly #stream = new MemoryStream();
  #log!: MemoryLog;
  #sent: Uint8Array | undefined;
  #stored: LogPosition = emptyPosition;
  #diskError: Error | undefined;
  /** What waits to be read, and to be stored, while a script holds it. */
  readonly #held = new Map<'reading' | 'storing', Array<() => void>>();
  /** Another machine, which has applied what is in the log. */
  #other = new LogWriter();
  #mayLead = true;
  #replicator!: LogReplicator;

  #start(option = ''): void {
    const owner = option === 'again' ? 'again' : 'self';
    this.#replicator = new LogReplicator({
      log: this.#openLog(),
      store: {
        position: () => this.#stored,
        apply: (writes, position) =>
          new Promise((resolve, reject) => {
            this.#pass('storing', () => {
              if (this.#diskError !== undefined) return reject(this.#diskError);
              this.#stored = position;
              if (writes.length > 0) this.note(`stores ${writes.map(([, key]) => key).join()}`);
              resolve();
            });
          }),
      },
      self: { owner, url: `http://${owner}`, version: '1' },
      timers: this.timers,
      random: () => 0,
      leaseMs: 10_000,
      beatMs: option === 'beatless' ? 1e9 : 4_000,
      ...(option === 'parts' && { partBytes: 8 }),
      mayLead: () => this.#mayLead,
      onLeading: () => this.note('leading'),
      onDeposed: () => this.note('deposed'),
      onStopped: ({ reason, detail }) => this.note(`${reason}: ${detail}`),
    });
    this.#replicator.start();
  }

  #openLog(): OrderedLog {
    const log = new MemoryLog(this.#stream, this.time.later);
    this.#log = log;
    return {
      bounds: () => log.bounds(),
      prune: (below) => log.prune(below),
      append: (body) => {
        this.note(`${readEntry(body)?.content?.kind}${this.#sent === body ? '+' : ''}`);
        this.#sent = body;
        return log.append(body);
      },
      follow: (from, reader) => {
        let isStopped = false;
        const reading = log.follow(from, {
          entry: (...read) => this.#pass('reading', () => isStopped || reader.entry(...read)),
          ended: (error) => reader.ended(error),
        });
        const stop = (): void => {
          isStopped = true;
          reading.stop();
        };
        return { stop };
      },
    };
  }

  #pass(what: 'reading' | 'storing', run: () => unknown): void {
    const held = this.#held.get(what);
    if (held === undefined) run();
    else held.push(run);
  }

  #open(what: 'reading' | 'storing'): void {
    const held = this.#held.get(what) ?? [];
    this.#held.delete(what);
    for (const run of held) run();
  }

  #write(key: string): void {
    const ended = (how: string): void => this.note(`${key} ${how}`);
    this.#replicator.commit(writesOf(key)).then(
      () => ended('done'),
      (error: unknown) => ended(`refused: ${reasonOf(error)}`),
    );
  }

  #check(): void {
    try {
      this.#replicator.check();
      this.note('held');
    } catch (error) {
      this.note(reasonOf(error));
    }
  }

  /** The other machine has applied what this one has. */
  #catchUp(): void {
    const { epoch, n, chain } = this.#replicator.status.position;
    Object.assign(this.#other, { epoch, n, chain });
  }

  /** Another machine leads that has not read the newest entries. */
  #foreign(): Uint8Array {
    this.#catchUp();
    return this.#other.body(leadOf('other', 0), { chain: Buffer.alloc(chainBytes, 1) });
  }

  readonly #steps: Steps = {
    start: (option) => this.#start(option),
    close: () => this.#replicator.close(),
    write: (key) => this.#write(key),
    release: (to) => void this.#replicator.release(to).then(() => this.note('released')),
    check: () => this.#check(),
    banned: () => (this.#mayLead = false),
    allowed: () => (this.#mayLead = true),

    unread: () => this.#held.set('reading', []),
    read: () => this.#open('reading'),
    unstored: () => this.#held.set('storing', []),
    store: () => this.#open('storing'),
    full: () => (this.#diskError = new Error('the disk is full')),
    space: () => (this.#diskError = undefined),
    refuse: () => (this.#log.faults = { ...noFaults, lostAppend: 1 }),
    accept: () => (this.#log.faults = noFaults),
    leave: () => this.#log.leave(),
    back: () => this.#log.comeBack(),
    lose: (above) => this.#stream.loseAbove(Number(above)),
    prune: (below) => this.#stream.prune(Number(below)),

    catch: () => this.#catchUp(),
    lead: () => this.#stream.append(this.#other.lead()),
    tx: (key) => this.#stream.append(this.#other.tx(writesOf(key))),
    large: () => this.#stream.append(this.#other.part(0, 1, large)),
    beat: () => this.#stream.append(this.#other.beat()),
    gives: (to) => this.#stream.append(this.#other.release(to)),
    late: () => this.#stream.append(this.#sent!),
    again: (seq) => this.#stream.append(this.#other.bodies[Number(seq) - 1]!),
    foreign: () => this.#stream.append(this.#foreign()),
    newer: (n) => this.#stream.append(packPlain([7, 1, Number(n)])),
  };

  /** @returns the trace; the state, its position in the log and in its epoch, and the numbers of ignored entries and restarts */
  async run(script: string): Promise<string> {
    const trace = await this.play(script, this.#steps);
    const { state, position, ignored, restarts } = this.#replicator.status;
    const { seq, epoch, n } = position;
    return `${trace}; ${state} ${seq} ${epoch}.${n} ${ignored} ${restarts}`;
  }
}

const reasonOf = (error: unknown): string =>
  messageOf(error).replace('Cannot change anything here: ', '');

const scripts: Record<string, Record<string, [script: string, trace: string]>> = {
  'a write': {
    'is done when it was read back and is stored, not when the log has answered': [
      '0 start, 10501 unread, 10501 unstored, 10501 write a, 10511 read, 10521 store, 10531',
      '10500 lead, 10500 leading, 10501 tx, 10521 stores a, 10521 a done; leader 2 1.1 0 0',
    ],
    'is sent again after 1 s, then 2 s, until it is read back, and counts once': [
      '0 start, 10501 unread, 10501 write a, 13600 read, 14100',
      '10500 lead, 10500 leading, 10501 tx, 11501 tx+, 13501 tx+, 13600 stores a, 13600 a done; leader 2 1.1 2 1',
    ],
    'is refused without a lease, and written nowhere': [
      '0 start, 0 write a, 1',
      '0 a refused: no machine leads now; standby 0 0.0 0 0',
    ],
    'renews the lease from when it was sent': [
      '0 start beatless, 15501 unread, 15501 write a, 16401 read, 25500 check, 25501 check',
      '10500 lead, 10500 leading, 15501 tx, 16401 stores a, 16401 a done, 25500 held, 25501 no machine leads now; leader 2 1.1 0 1',
    ],
    'of a deposed leader is refused, and never counts': [
      '0 start, 10501 refuse, 10501 write a, 10511 catch, 10511 lead, 10521 late, 13500',
      '10500 lead, 10500 leading, 10501 tx, 10511 deposed, 10511 a refused: another machine leads now; standby 2 2.0 1 0',
    ],
    'of a leader that is deposed between two parts is refused': [
      '0 start parts, 10501 unread, 10501 write a, 10511 foreign, 10511 read, 10521',
      '10500 lead, 10500 leading, 10501 tx, 10511 deposed, 10511 a refused: another machine leads now; standby 3 2.0 0 0',
    ],
    'that counted before another machine leads is done, also if it is stored only later': [
      '0 start, 10501 unstored, 10501 write a, 10511 catch, 10511 lead, 10521 full, 10521 store, 11021 space, 13021',
      '10500 lead, 10500 leading, 10501 tx, 10511 deposed, 11521 stores a, 11521 a done; standby 3 2.0 0 1',
    ],
  },
  'a standby': {
    'that cannot store tries again each second, does not lead, and catches up': [
      '0 start, 0 lead, 0 tx a, 10 full, 10 tx b, 10 tx a, 60010 space, 61110',
      '0 stores a, 61010 stores b, 61010 stores a, 61010 lead, 61010 leading; leader 5 2.0 0 61',
    ],
    'claims no lead while what counted is not stored': [
      '0 start, 0 unstored, 0 lead, 0 tx a, 30000 store, 31000',
      '30000 stores a, 30100 lead, 30100 leading; leader 3 2.0 0 0',
    ],
    'claims no lead while it may not': [
      '0 banned, 0 start, 30000 allowed, 31000',
      '30100 lead, 30100 leading; leader 1 1.0 0 0',
    ],
    'leads only when its own lead is stored': [
      '0 start, 0 unstored, 10510 store, 10520',
      '10500 lead, 10510 leading; leader 1 1.0 0 0',
    ],
    'does not lead with a lead that another has followed before it was stored': [
      '0 start, 0 unstored, 10510 catch, 10510 lead, 10520 store, 11520 check',
      '10500 lead, 11520 http://other leads; standby 2 2.0 0 0',
    ],
    'reads no further while 32 MiB wait to be stored': [
      '0 start, 0 unstored, 0 lead, 0 large, 0 large, 0 large, 0 large, 0 large, 1000 store, 1010',
      '1000 stores large,large,large,large, 1000 stores large; standby 6 1.5 0 1',
    ],
  },
  'a replicator stops': {
    'where an append gets a position that is applied already': [
      '0 start, 10501 write a, 10511 lose 1, 10511 write b, 10521, 40000 check',
      '10500 lead, 10500 leading, 10501 tx, 10501 stores a, 10501 a done, 10511 tx, 10511 diverged: the log appended a new entry at 2, and 2 is applied here, 40000 no machine leads now; stopped 2 1.1 0 0',
    ],
    'where the log is too short for 15 s, and claims no lead meanwhile': [
      '0 start, 0 lead, 0 tx a, 0 tx b, 10 lose 1, 8010 again 2, 8010 again 3, 9010 lose 1, 25200',
      '0 stores a, 0 stores b, 25000 diverged: the log ends at 1, and 3 is applied here; stopped 3 1.2 0 0',
    ],
    'where the log is too short for three questions, not for two': [
      '0 start, 0 lead, 0 tx a, 0 tx b, 10 lose 1, 1510 leave, 21510 back, 26000',
      '0 stores a, 0 stores b, 23610 diverged: the log ends at 1, and 3 is applied here; stopped 3 1.2 0 1',
    ],
    'where another entry stands at the place that it has stored': [
      '0 start, 0 lead, 0 tx a, 0 tx b, 10 close, 10 lose 2, 10 again 2, 10 start, 20',
      '0 stores a, 0 stores b, 10 diverged: entry 3 is not the one that was applied; stopped 3 1.2 0 0',
    ],
    'where the next entry was pruned': [
      '0 start, 0 lead, 0 tx a, 10 close, 10 tx b, 10 tx a, 10 prune 4, 10 start, 20',
      '0 stores a, 10 behind: the log begins at 4, and only 2 is applied here; stopped 2 1.1 0 0',
    ],
    'not where the log begins with the next entry': [
      '0 start, 0 lead, 0 tx a, 10 close, 10 tx b, 10 tx a, 10 prune 3, 10 start, 20',
      '0 stores a, 10 stores b, 10 stores a; standby 4 1.3 0 0',
    ],
    'where an entry is newer than this program': [
      '0 start, 0 lead, 0 tx a, 10 newer 1, 10 newer 2, 20',
      '0 stores a, 10 newer: an entry has version 7, which this program does not know; stopped 2 1.1 1 0',
    ],
    'where a leader cannot store what counts': [
      '0 start, 10501 full, 10501 write a, 40000',
      '10500 lead, 10500 leading, 10501 tx, 10501 unapplied: an entry that counts cannot be applied: the disk is full; stopped 2 1.1 0 0',
    ],
  },
  'a replicator that is closed': {
    'answers nothing, and writes and reads nothing more': [
      '0 start, 10501 write a, 10511 refuse, 10511 write b, 10521 close, 10521 catch, 10521 lead, 70000',
      '10500 lead, 10500 leading, 10501 tx, 10501 stores a, 10501 a done, 10511 tx; stopped 2 1.1 0 0',
    ],
  },
  'a release': {
    'follows all parts of the batch that is under way': [
      '0 start parts, 10501 refuse, 10501 write a, 10501 release, 10501 release b, 11001 accept, 11300',
      '10500 lead, 10500 leading, 10501 tx, 10601 tx+, 10701 tx+, 10801 tx+, 10901 tx+, 11001 tx+, 11101 tx+, 11101 tx, 11101 stores a, 11101 release, 11101 a done, 11101 deposed, 11101 released, 11101 released; standby 3 1.2 0 0',
    ],
    'ends when the machine is closed, or if it does not lead': [
      '0 start, 10501 refuse, 10501 release, 10511 close, 20511 release, 20512',
      '10500 lead, 10500 leading, 10501 release, 10511 released, 20511 released; stopped 1 1.0 0 0',
    ],
    'is of one lead: a later one is released again': [
      '0 start, 10501 release, 40600 write a, 40610 release, 40620',
      '10500 lead, 10500 leading, 10501 release, 10501 deposed, 10501 released, 31001 lead, 31001 leading, 35001 beat, 39001 beat, 40600 tx, 40600 stores a, 40600 a done, 40610 release, 40610 deposed, 40610 released; standby 6 2.1 0 0',
    ],
    'is read again by a standby that starts again; of several the first counts': [
      '0 start, 0 lead, 10 tx a, 10 beat, 10 gives gone, 10 beat, 20 close, 20 start again, 30 gives again, 30 beat, 9000, 11100',
      '10 stores a, 10520 lead, 10520 leading; leader 8 2.0 0 0',
    ],
  },
};

describe.each(Object.entries(scripts))('%s', (_, cases) => {
  it.each(Object.entries(cases))('%s', async (_name, [script, trace]) => {
    expect(await new Machine().run(script)).toBe(trace);
  });
});
