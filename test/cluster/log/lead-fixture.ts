/** A machine's lead in virtual time, with a lease of 1 s, and what it sends and calls. Times are milliseconds since its start. */
import { emptyPosition } from '../../../src/cluster/log/applier.ts';
import { chainBytes, type Leader, readEntry } from '../../../src/cluster/log/entry.ts';
import { Lead } from '../../../src/cluster/log/lead.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';

/** Of the lease; a beat comes every 200 ms. */
const leaseMs = 1_000;
const beatMs = 200;
export const self: Leader = { owner: 'self', url: 'http://self', version: '1' };
export const other: Leader = { owner: 'other', url: 'http://other', version: '1' };
export const chain = Buffer.alloc(chainBytes, 5);

export class LeadFixture {
  readonly time = new VirtualTime();
  readonly startMs = this.time.nowMs;
  /** What was appended, and when: milliseconds since the start. */
  readonly sent: Array<{ atMs: number; kind: string | undefined; body: Uint8Array }> = [];
  readonly events: string[] = [];
  /** Of timers that have not run and were not cancelled. */
  readonly timers = new Set<object>();
  position = { ...emptyPosition, seq: 9, epoch: 4, n: 7, chain };
  random = 0;
  isAtEnd: () => Promise<boolean> = () => Promise.resolve(true);
  asked: number[] = [];
  readonly lead: Lead;

  constructor(options: { leaseMs?: number; beatMs?: number } = {}) {
    this.lead = new Lead({
      self,
      timers: { monotonicMs: () => this.time.nowMs, after: this.#after },
      random: () => this.random,
      leaseMs,
      beatMs,
      ...options,
      position: () => this.position,
      isAtEnd: () => {
        this.asked.push(this.nowMs);
        return this.isAtEnd();
      },
      append: (body) => {
        this.sent.push({ atMs: this.nowMs, kind: readEntry(body)?.content?.kind, body });
      },
      onLeading: () => this.events.push(`leading at ${this.nowMs}`),
      onDeposed: () => this.events.push(`deposed at ${this.nowMs}`),
    });
    this.lead.lapsed.listen(() => this.events.push(`lapsed at ${this.nowMs}`));
    this.lead.start();
  }

  readonly #after = (ms: number, run: () => void): (() => void) => {
    const timer = {};
    this.timers.add(timer);
    const cancel = this.time.later(ms, () => {
      this.timers.delete(timer);
      run();
    });
    return () => {
      this.timers.delete(timer);
      cancel();
    };
  };

  get nowMs(): number {
    return this.time.nowMs - this.startMs;
  }

  async until(ms: number): Promise<void> {
    await this.time.run(this.startMs + ms);
  }

  /** Its own lead, or another's, counts. */
  countLead(leader: Leader): void {
    const epoch = this.position.epoch + 1;
    this.position = { ...this.position, epoch, n: 0 };
    this.lead.countedLead(leader);
    this.lead.storedLead(leader, epoch);
  }

  /** It has led since 1,050, when its lead was sent and read back. */
  async leading(): Promise<void> {
    await this.until(1_050);
    this.countLead(self);
    this.events.length = 0;
  }

  /** At 1,100 the log is asked, and has not answered. @returns its answer; `undefined` that it does not */
  async asking(): Promise<(atEnd: boolean | undefined) => void> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.isAtEnd = () => promise;
    await this.until(1_100);
    return (atEnd) => (atEnd === undefined ? reject(new Error('no answer')) : resolve(atEnd));
  }

  kinds(): Array<string | undefined> {
    return this.sent.map(({ kind }) => kind);
  }

  sentAt(kind: string): number[] {
    return this.sent.filter((entry) => entry.kind === kind).map(({ atMs }) => atMs);
  }

  refusal(): unknown {
    try {
      this.lead.check();
      return undefined;
    } catch (error) {
      return error;
    }
  }
}
