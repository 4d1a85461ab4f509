/**
 * An ordered log: what a cluster needs of its engine, and nothing more.
 *
 * One total order, an append that a quorum has, reading from a position. It is not trusted with more: an append may be
 * made and its answer lost, made twice by one call, or made long after the call gave up; a reading may stall, end at
 * any moment, and begin again; the log may lose its newest entries although they were answered. The reader decides
 * what counts (applier.ts).
 */

export interface LogBounds {
  /** Position of the oldest entry that is still there; `last + 1` in an empty log. */
  readonly first: number;
  /** Position of the newest entry that was ever appended and not lost; 0 before the first. */
  readonly last: number;
}

export interface LogReader {
  /**
   * Entries from `from` on, each once, in order, without a gap. Must not throw; `body` is the reader's own.
   * @param atMs when the engine took it, by its own clock: the same for all readers
   * @param subject where it was appended, in a log of several subjects: the engine checks who may append to each
   */
  entry(seq: number, body: Uint8Array, atMs: number, subject?: string): void;
  /** Nothing more comes: the connection, the broker or the order was lost. Called at most once, and not after `stop`. */
  ended(error: Error): void;
}

export interface Reading {
  stop(): void;
}

export interface OrderedLog {
  /**
   * @param body at most 1 MB with the engine's own frame: partBytesMax (entry.ts) leaves space for it
   * @returns its position, from 1; rejects when it is not known whether it was or will be appended. Ends within 5 s.
   */
  append(body: Uint8Array): Promise<number>;
  /**
   * Reads from position `from` (at least 1) on, and then what is appended, also if `from` is not there yet.
   * Brings nothing, or ends, where `from` is not there any more: the bounds say so.
   */
  follow(from: number, reader: LogReader): Reading;
  /** As a majority of the engine knows it. Rejects when the engine does not answer within 5 s. */
  bounds(): Promise<LogBounds>;
  /** Removes the entries below this position. */
  prune(below: number): Promise<void>;
}

/** The error of an append contains it when an operator must act first. */
export const storageFull = 'the brokers are out of storage';
