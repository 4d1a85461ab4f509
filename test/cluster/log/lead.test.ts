/** Leader election, in virtual time: the lease is 1 s, a beat follows every 200 ms (src/cluster/log/lead.ts). */
import { describe, expect, it } from 'vitest';
import { emptyPosition, type LogPosition } from '../../../src/cluster/log/applier.ts';
import { chainBytes, type Leader, readEntry } from '../../../src/cluster/log/entry.ts';
import { Lead } from '../../../src/cluster/log/lead.ts';
import { messageOf } from '../../../src/model/failure.ts';
import { Played, type Steps } from '../virtual-time.ts';

const self: Leader = { owner: 'self', url: 'http://self', version: '1' };
const other: Leader = { owner: 'other', url: 'http://other', version: '1' };
const chain = Buffer.alloc(chainBytes, 5);

/** One machine. The trace has what it appends, its events, and questions that are not answered with yes at once. */
class Machine {
  readonly #played = new Played();
  readonly sent: Uint8Array[] = [];
  position: LogPosition;
  #random = 0;
  #end = 'yes';
  #answer: (answer: string) => void = () => undefined;
  readonly lead: Lead;

  constructor(leaseMs = 1_000, beatMs = 200, leader?: Leader) {
    this.position = { ...emptyPosition, seq: 9, epoch: 4, n: 7, chain, leader };
    const { timers } = this.#played;
    const note = (what: string) => (): void => this.#played.note(what);
    this.lead = new Lead({
      self,
      timers,
      random: () => this.#random,
      leaseMs,
      beatMs,
      position: () => this.position,
      isAtEnd: () => this.#isAtEnd(),
      append: (body) => this.#append(body),
      onLeading: note('leading'),
      onDeposed: note('deposed'),
    });
    this.lead.lapsed.listen(note('lapsed'));
    this.lead.start();
  }

  #isAtEnd(): Promise<boolean> {
    if (this.#end === 'yes') return Promise.resolve(true);
    this.#played.note('asks');
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#answer = (answer) =>
      answer === 'away' ? reject(new Error('no answer')) : resolve(answer === 'yes');
    if (this.#end !== 'held') this.#answer(this.#end);
    return promise;
  }

  #append(body: Uint8Array): void {
    const content = readEntry(body)?.content;
    this.sent.push(body);
    this.#played.note(`${content?.kind}`);
  }

  #counts(leader: Leader): void {
    const epoch = this.position.epoch + 1;
    this.position = { ...this.position, epoch, n: 0 };
    this.lead.countedLead(leader);
    this.lead.storedLead(leader, epoch);
  }

  #check(): void {
    try {
      this.lead.check();
      this.#played.note('held');
    } catch (error) {
      this.#played.note(messageOf(error).replace('Cannot change anything here: ', ''));
    }
  }

  readonly #steps: Steps = {
    draw: (random) => (this.#random = Number(random)),
    self: () => this.#counts(self),
    other: () => this.#counts(other),
    /** An epoch that it has not claimed. */
    skip: () => (this.position = { ...this.position, epoch: 7 }),
    counted: (ms) => this.lead.counted(ms === undefined ? undefined : 1_000 + Number(ms)),
    beat: (count) => this.lead.countedBeat(Number(count)),
    released: (to = '') => this.lead.countedRelease(to),
    renounce: () => this.lead.renounce(),
    release: (to = '') => this.lead.release(to),
    end: (end) => (this.#end = end),
    answer: (answer) => this.#answer(answer),
    check: () => this.#check(),
    stop: () => this.lead.stop(),
  };

  /** @returns the trace, the state and the number of timers */
  async play(script: string): Promise<string> {
    const trace = await this.#played.play(script, this.#steps);
    return `${trace}; ${this.lead.state} ${this.#played.timerCount}`;
  }
}

const scripts: Record<string, Record<string, [script: string, trace: string]>> = {
  'a standby': {
    'claims after a lease and a margin of silence': ['0 other, 1051', '1050 lead; candidate 1'],
    'waits at most 150 ms longer': ['0 draw 0.999, 0 other, 1200', '1200 lead; candidate 1'],
    'asks again every 100 ms while the log does not answer': [
      '0 end away, 1300',
      '1050 asks, 1150 asks, 1250 asks; standby 1',
    ],
    'claims nothing if an entry counts while the log is asked': [
      '0 end held, 1100 beat 1, 1100 answer yes, 1100 end yes, 2351',
      '1050 asks, 2150 lead; candidate 1',
    ],
    'waits once if a lead counts while the log is asked': [
      '0 end held, 1100 draw 0.9, 1100 other, 1100 answer yes, 1110',
      '1050 asks; standby 1',
    ],
    'refuses, and names the leader': [
      '0 check, 0 other, 0 check',
      '0 no machine leads now, 0 http://other leads; standby 1',
    ],
  },
  'a candidate': {
    'leads with its own lead, and opens at once': [
      '1100 check, 1100 self, 1100 check',
      '1050 lead, 1100 no machine leads now, 1100 leading, 1100 held; leader 2',
    ],
    'stands by when the lead of another counts': [
      '1100 other, 2151',
      '1050 lead, 2150 lead; candidate 1',
    ],
    'stands by when an entry of the former leader counts': [
      '1100 counted, 2151',
      '1050 lead, 2150 lead; candidate 1',
    ],
    'tries again after 2 s; its lease runs from the first time': [
      '3060 self, 3060 check, 3270 beat 1, 3270 check',
      '1050 lead, 3050 lead, 3060 leading, 3060 lapsed, 3060 no machine leads now, 3260 beat, 3270 held; leader 2',
    ],
    'leads with a lead that counts when it stands by again': [
      '1100 counted, 1110 self, 1110 check',
      '1050 lead, 1110 no machine leads now; leader 3',
    ],
    'does not lead with a lead of its name that it has not claimed': [
      '1100 skip, 1100 self, 1100 check',
      '1050 lead, 1100 no machine leads now; standby 1',
    ],
    'waits for the lease of the former leader, and opens then': [
      '1100 counted, 1110 self, 1450 beat 1, 1650 beat 2, 1850 beat 3, 2050 beat 4, 2149 check, 2150 check',
      '1050 lead, 1250 beat, 1450 beat, 1650 beat, 1850 beat, 2050 beat, 2149 no machine leads now, 2150 leading, 2150 held; leader 2',
    ],
    'opens although a lead counted while the log was asked': [
      '0 end held, 1100 draw 0.99, 1100 other, 1100 answer yes, 1100 end yes, 1100 draw 0, 2403 counted, 2413 self, 3503',
      '1050 asks, 2299 lead, 2499 beat, 2699 beat, 2899 beat, 3099 beat, 3299 lapsed, 3299 beat, 3453 leading, 3499 beat; leader 1',
    ],
  },
  'a leader': {
    'holds its lease from when its lead was sent, not from when it was read': [
      '1500 self, 2049 check, 2050 check, 2400',
      '1050 lead, 1500 leading, 1700 beat, 1900 beat, 2049 held, 2050 lapsed, 2050 no machine leads now, 2100 beat, 2300 beat; leader 1',
    ],
    'renews its lease by entries that count, from when they were sent': [
      '1050 self, 1800 counted 1600, 1800 counted 1300, 1800 counted, 2599 check, 3000',
      '1050 lead, 1050 leading, 1250 beat, 1450 beat, 1650 beat, 1850 beat, 2050 beat, 2250 beat, 2450 beat, 2599 held, 2600 lapsed, 2650 beat, 2850 beat; leader 1',
    ],
    'sends a beat when nothing that it sent for 200 ms counted': [
      '1050 self, 1400 counted 1390, 2000',
      '1050 lead, 1050 leading, 1250 beat, 1590 beat, 1790 beat, 1990 beat; leader 2',
    ],
    'that lapsed is renewed by the next beat that counts': [
      '1050 self, 2300 check, 2300 beat 6, 2300 check, 3249 check, 3250 check',
      '1050 lead, 1050 leading, 1250 beat, 1450 beat, 1650 beat, 1850 beat, 2050 lapsed, 2050 beat, 2250 beat, 2300 no machine leads now, 2300 held, 2450 beat, 2650 beat, 2850 beat, 3050 beat, 3249 held, 3250 lapsed, 3250 beat, 3250 no machine leads now; leader 1',
    ],
    'is not renewed by a beat that comes again, after a later one, or that it did not send': [
      '1050 self, 1500 beat 2, 1500 beat 2, 1500 beat 1, 1500 beat 77, 2500',
      '1050 lead, 1050 leading, 1250 beat, 1450 beat, 1650 beat, 1850 beat, 2050 beat, 2250 beat, 2450 lapsed, 2450 beat; leader 1',
    ],
    'is deposed by the lead of another, once, and writes nothing more': [
      '1050 self, 1400 other, 1400 check, 1400 counted 1390, 2460 self, 2460 check',
      '1050 lead, 1050 leading, 1250 beat, 1400 lapsed, 1400 deposed, 1400 http://other leads, 2450 lead, 2460 leading, 2460 held; leader 2',
    ],
  },
  'that gives the lead away': {
    'holds no lease any more; its beats renew nothing; it sends its release until that counts': [
      '1050 self, 1300 renounce, 1300 check, 1500 beat 2, 1500 check, 1500 release next, 1950 released next, 3900',
      '1050 lead, 1050 leading, 1250 beat, 1300 lapsed, 1300 no machine leads now, 1450 beat, 1500 no machine leads now, 1500 release, 1700 release, 1900 release, 1950 deposed; standby 1',
    ],
    'leads again one lease after the others could': [
      '1050 self, 1050 renounce, 1050 release, 1050 released, 3101 self, 3101 check',
      '1050 lead, 1050 leading, 1050 lapsed, 1050 release, 1050 deposed, 3100 lead, 3101 leading, 3101 held; leader 2',
    ],
    'sends its release only when the lease of the leader before it has ended': [
      '1100 counted, 1100 self, 1100 renounce, 1100 release, 2151',
      '1050 lead, 1100 lapsed, 1100 beat, 1300 beat, 1500 beat, 1700 beat, 1900 beat, 2050 lapsed, 2100 beat, 2150 release; leader 1',
    ],
    'holds the lease of a later epoch': [
      '1050 self, 1050 renounce, 1050 release, 1050 other, 2150 self, 2150 check, 2400',
      '1050 lead, 1050 leading, 1050 lapsed, 1050 release, 1050 lapsed, 1050 deposed, 2100 lead, 2150 leading, 2150 held, 2300 beat; leader 2',
    ],
    'gives nothing away if it does not lead, or has not renounced': [
      '0 renounce, 0 release, 1050 self, 1050 release, 1060',
      '1050 lead, 1050 leading; leader 2',
    ],
  },
  'a standby whose leader gives the lead away': {
    'claims at once, and holds the lease at once': [
      '0 other, 300 released, 301 self, 301 check',
      '300 lead, 301 leading, 301 held; leader 2',
    ],
    'claims without a wait if it is named': [
      '0 draw 0.5, 300 released self, 300',
      '300 lead; candidate 1',
    ],
    'claims after a silence if another is named': [
      '300 released other, 1351',
      '1350 lead; candidate 1',
    ],
    'is not held up by the release again, or by late beats': [
      '0 draw 0.8, 300 released, 330 released, 330 released other, 330 beat 3, 341 beat 4, 350',
      '340 lead; candidate 1',
    ],
    'does not claim while it has not read the log to its end': [
      '0 end held, 0 released, 10 answer no, 10 end yes, 31',
      '0 asks, 30 lead; candidate 1',
    ],
    'waits for a whole silence again when another leads': [
      '0 end held, 0 released, 10 other, 10 answer yes, 10 end yes, 1300 counted, 1300 self, 1300 check',
      '0 asks, 1060 lead, 1300 no machine leads now; leader 3',
    ],
    'is a candidate already: holds the lease at once': [
      '1100 released other, 1100 self, 1100 check',
      '1050 lead, 1100 leading, 1100 held; leader 2',
    ],
  },
  'a leader that reads nothing': {
    'sends no beat one lease after its lease ended, while the log does not answer': [
      '1050 self, 1050 end away, 3300 end yes, 3700',
      '1050 lead, 1050 leading, 1250 beat, 1450 beat, 1650 beat, 1850 beat, 2050 lapsed, 2050 beat, 2250 beat, 2450 beat, 2650 beat, 2850 beat, 3050 asks, 3250 asks, 3450 beat, 3650 beat; leader 1',
    ],
    'sends no more beats if it reads each one too late': [
      '1050 self, 1050 end no, 2550 beat 1, 2750 beat 2, 2950 beat 3, 3150 beat 4, 3350 beat 5, 3350 check, 3800',
      '1050 lead, 1050 leading, 1250 beat, 1450 beat, 1650 beat, 1850 beat, 2050 lapsed, 2050 beat, 2250 beat, 2450 beat, 2550 lapsed, 2650 beat, 2750 lapsed, 2850 beat, 2950 lapsed, 3050 asks, 3150 lapsed, 3250 asks, 3350 lapsed, 3350 no machine leads now, 3450 asks, 3650 asks; leader 1',
    ],
    'sends no beat if it stops while the log is asked': [
      '1050 self, 1050 end held, 3100 stop, 3100 answer yes, 4000',
      '1050 lead, 1050 leading, 1250 beat, 1450 beat, 1650 beat, 1850 beat, 2050 lapsed, 2050 beat, 2250 beat, 2450 beat, 2650 beat, 2850 beat, 3050 asks, 3100 lapsed; stopped 0',
    ],
  },
  'that stops': {
    'a standby leaves nothing behind': [
      '500 stop, 500 check, 500 counted, 500 beat 1, 500 self, 500 other, 9000',
      '500 lapsed, 500 no machine leads now; stopped 0',
    ],
    'a leader that waits to open leaves nothing behind': [
      '1100 counted, 1100 self, 1100 stop, 1100 check, 9000',
      '1050 lead, 1100 lapsed, 1100 no machine leads now; stopped 0',
    ],
    'while the log is asked, which answers then': [
      '0 end held, 1100 stop, 1100 answer yes, 9000',
      '1050 asks, 1100 lapsed; stopped 0',
    ],
  },
};

describe.each(Object.entries(scripts))('%s', (_, cases) => {
  it.each(Object.entries(cases))('%s', async (_name, [script, trace]) => {
    expect(await new Machine().play(script)).toBe(trace);
  });
});

it('appends its lead, beats and release in its epoch, behind what it has applied', async () => {
  const machine = new Machine();
  await machine.play('1050 self, 1250');
  machine.position = { ...machine.position, n: 3, chain: Buffer.alloc(chainBytes, 6) };
  await machine.play('1450 renounce, 1450 release next, 1451');
  const entries = machine.sent.map((body) => readEntry(body));
  const head = { version: 1, epoch: 5, n: 0 };
  expect(entries).toEqual([
    { head, chain, content: { kind: 'lead', leader: self, after: 7 } },
    { head, chain, content: { kind: 'beat', count: 1 } },
    { head: { ...head, n: 3 }, chain: machine.position.chain, content: { kind: 'beat', count: 2 } },
    {
      head: { ...head, n: 3 },
      chain: machine.position.chain,
      content: { kind: 'release', to: 'next' },
    },
  ]);
});

it('a standby knows its leader from the start, and refuses with a code', () => {
  const { lead } = new Machine(1_000, 200, other);
  expect(lead.leader).toBe(other);
  expect(() => lead.check()).toThrow(
    expect.objectContaining({ code: 'not_active', retryAfterSeconds: 1 }),
  );
});

it.each([
  // Its lead was sent at 10,500, its beat 6 at 11,100; it has sent 25 beats by 13,000.
  [5, 20_500],
  [6, 21_100],
])('remembers 20 beats: with beat %d its lease ends at %d', async (count, ms) => {
  const trace = await new Machine(10_000, 100).play(`10500 self, 13000 beat ${count}, 24000`);
  expect(trace).toContain(`${ms} lapsed`);
});
