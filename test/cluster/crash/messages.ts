/** What a core's process and the run that started it say to each other. */
import type { LogPosition } from '../../../src/cluster/log/applier.ts';
import type { Stop } from '../../../src/cluster/log/replicator.ts';

export interface CoreSettings {
  readonly name: string;
  /** Names one run of the process. */
  readonly owner: string;
  readonly dataFile: string;
  readonly servers: readonly string[];
  /** No log, the service on one machine. */
  readonly isSingle: boolean;
}

/** What a client asks for: the next number of the counter is kept under its name, and the rest beside it. */
export interface Write {
  readonly name: string;
  /** A record that many writes put, and one that many remove. */
  readonly puts: string;
  readonly removes: string;
  /** Of records that large writes put: above partBytesMax it stands in several entries. */
  readonly largeBytes: number;
  /** It throws at its end. */
  readonly isThrowing: boolean;
}

export type Order =
  | { readonly kind: 'write'; readonly id: number; readonly write: Write }
  /** The counter, where the lease allows it. */
  | { readonly kind: 'read'; readonly id: number }
  | { readonly kind: 'status'; readonly id: number };

/** @property chain in hexadecimal; equal ones have replayed the same log */
export interface Status {
  readonly chain: string;
  readonly seq: number;
  readonly epoch: number;
  readonly n: number;
  readonly ignored: number;
  readonly restarts: number;
}

export type Answer =
  | { readonly kind: 'done'; readonly value: number; readonly epoch: number }
  | { readonly kind: 'refused'; readonly detail: string }
  | { readonly kind: 'thrown' }
  | { readonly kind: 'status'; readonly status: Status }
  /** What no client may ever see. */
  | { readonly kind: 'failed'; readonly detail: string };

export type CoreMessage =
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  | { readonly kind: 'open' }
  | { readonly kind: 'leading'; readonly epoch: number }
  | { readonly kind: 'deposed' }
  | { readonly kind: 'stopped'; readonly stop: Stop };

export const stream = 'CORE';
export const subject = 'qz.core';

export const statusOf = (
  { chain, seq, epoch, n }: LogPosition,
  counts: { readonly ignored: number; readonly restarts: number },
): Status => ({ chain: Buffer.from(chain).toString('hex'), seq, epoch, n, ...counts });
