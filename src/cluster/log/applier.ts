/**
 * Which entries of the log count: the same pure function on every machine, so all come to the same state.
 *
 *   a `lead` counts    when its epoch is mine + 1
 *   all others count   when their epoch is mine, and they are the next: n = mine + 1; a `beat` or `release` has the newest n
 *   what does not count is ignored on every machine
 *
 * There is no other fencing. Of two machines that want to lead, the one whose `lead` is first in the log does; what a deposed
 * leader still writes has an old epoch; what is sent again, because its answer was lost, is there already.
 *
 * A leader writes one entry after the other was read back, and leads only where it has read the log to its end. So
 * an entry from further ahead, and a `chain` that is not mine, mean that the log is not the one that was applied
 * here: the log lost entries, or was replaced. Then the machine stops, so that its state and that of the others cannot differ.
 *
 * Bound: a large batch of transactions is split over several entries, and applied with the last of them; until then its
 * parts wait in memory, at most writesBytesMax bytes.
 */
import {
  chainAfter,
  emptyChain,
  type EntryContent,
  type Leader,
  type ReadEntry,
  readEntry,
} from './entry.ts';

/** The newest entry that counted. Commits with the writes of that entry. */
export interface LogPosition {
  /** 0: nothing was applied yet. */
  readonly seq: number;
  readonly epoch: number;
  readonly n: number;
  /** The chain after this entry, and before it: when it is read again, they show whether it is the same. */
  readonly chain: Uint8Array;
  readonly before: Uint8Array;
  /** Of the newest `lead` that counted; undefined before the first. */
  readonly leader?: Leader | undefined;
}

export const emptyPosition: LogPosition = {
  seq: 0,
  epoch: 0,
  n: 0,
  chain: emptyChain,
  before: emptyChain,
};

export type Decision =
  | { readonly kind: 'ignored' }
  /** It was applied before: reading began at it, or earlier. */
  | { readonly kind: 'known' }
  | { readonly kind: 'beat'; readonly count: number }
  /** No lease of this epoch, or of an earlier one, runs any more. @see Lead */
  | { readonly kind: 'release'; readonly to: string }
  /** `position` must be stored with it. */
  | { readonly kind: 'lead'; readonly leader: Leader; readonly position: LogPosition }
  /** Counts, and waits for the rest of its batch. */
  | { readonly kind: 'part' }
  /** `position` must be stored with them, in one transaction. */
  | {
      readonly kind: 'writes';
      /** For decodeWrites. */
      readonly parts: readonly Uint8Array[];
      readonly position: LogPosition;
    }
  /** The log is not the one that was applied here. */
  | { readonly kind: 'diverged'; readonly why: string }
  /** It counts, and has a newer format than this program knows. */
  | { readonly kind: 'newer'; readonly version: number };

const ignored: Decision = { kind: 'ignored' };
const known: Decision = { kind: 'known' };

export class Applier {
  #position: LogPosition;
  #parts: Uint8Array[] = [];

  /** @param position what is stored */
  constructor(position: LogPosition) {
    this.#position = position;
  }

  /** Of the newest entry that counted: with parts of a batch it is ahead of what is stored. */
  get position(): LogPosition {
    return this.#position;
  }

  /** Called with every entry in the order of the log, from `position.seq` on. */
  accept(seq: number, body: Uint8Array): Decision {
    const { position } = this;
    if (seq < position.seq) return known;
    if (seq === position.seq) return this.#recognize(body);
    const entry = readEntry(body);
    if (entry === undefined) return ignored;
    const { epoch, n } = entry.head;
    if (epoch > position.epoch + 1) return diverged(`epoch ${epoch} follows ${position.epoch}`);
    if (epoch === position.epoch + 1) return this.#acceptNext(seq, body, entry);
    if (epoch < position.epoch || n < position.n) return ignored;
    return this.#acceptSame(seq, body, entry);
  }

  #recognize(body: Uint8Array): Decision {
    const { seq, before, chain } = this.#position;
    if (isSame(chainAfter(before, body), chain)) return known;
    return diverged(`entry ${seq} is not the one that was applied`);
  }

  /** An entry of the next epoch: its `lead`, or something that only can come after that. */
  #acceptNext(seq: number, body: Uint8Array, { head, chain, content }: ReadEntry): Decision {
    if (content === undefined) return { kind: 'newer', version: head.version };
    if (content.kind !== 'lead' || head.n !== 0) {
      return diverged(`epoch ${head.epoch} begins with ${content.kind} ${head.n}, not with lead 0`);
    }
    // Entries of the former leader may have come between: the new leader had then read fewer than this machine.
    const { n, chain: mine } = this.#position;
    if (content.after > n || (content.after === n && !isSame(chain, mine))) {
      return diverged(`the leader of epoch ${head.epoch} had applied other entries`);
    }
    // Parts of a batch that the former leader did not finish.
    this.#parts = [];
    this.#move({ seq, epoch: head.epoch, n: 0, leader: content.leader }, body);
    return { kind: 'lead', leader: content.leader, position: this.#position };
  }

  /** An entry of this epoch that is not older than the newest that counted. */
  #acceptSame(seq: number, body: Uint8Array, { head, chain, content }: ReadEntry): Decision {
    const { epoch, n, chain: mine } = this.#position;
    const isRepeating = content?.kind === 'beat' || content?.kind === 'release';
    if (head.n === n && !isRepeating) return ignored;
    if (head.n > n + (isRepeating ? 0 : 1)) {
      return diverged(`entry ${head.n} of epoch ${epoch} follows ${n}`);
    }
    if (content === undefined) return { kind: 'newer', version: head.version };
    if (!isSame(chain, mine)) {
      return diverged(`its leader had applied other entries before ${head.n} of epoch ${epoch}`);
    }
    if (content.kind === 'beat' || content.kind === 'release') return content;
    if (content.kind === 'lead') return diverged(`epoch ${epoch} has two leads`);
    return this.#acceptPart(seq, body, content);
  }

  #acceptPart(
    seq: number,
    body: Uint8Array,
    { part, parts, bytes }: EntryContent & { kind: 'tx' },
  ): Decision {
    const { epoch, n, leader } = this.#position;
    if (part !== this.#parts.length) {
      return diverged(`part ${part} of ${parts} comes after ${this.#parts.length}`);
    }
    this.#parts.push(bytes);
    this.#move({ seq, epoch, n: n + 1, leader }, body);
    if (part < parts - 1) return { kind: 'part' };
    const whole = this.#parts;
    this.#parts = [];
    return { kind: 'writes', parts: whole, position: this.#position };
  }

  #move(to: Omit<LogPosition, 'chain' | 'before'>, body: Uint8Array): void {
    const before = this.#position.chain;
    this.#position = { ...to, chain: chainAfter(before, body), before };
  }
}

const diverged = (why: string): Decision => ({ kind: 'diverged', why });

const isSame = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;
