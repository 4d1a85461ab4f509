/** What the control thread and a shard's thread send each other. */
import type { ExpiredCode } from '../model/code.ts';
import type { Place } from './journal/place.ts';
import type { WorkspaceZone } from './days/zone-cuts.ts';
import type { MarkRepair } from './mark-recovery.ts';
import type { DamagedPlace } from '../store/damage.ts';
import type { ShardFigures } from './shard.ts';
import type { VisitorSetup } from './visitor/visitor.ts';
import type { CodeNo } from '../model/numbers.ts';

/** At a stop a shard counts what is left for so long; the rest stays in the journals. */
export const countingMsMax = 2_500;
/** Then it waits so long for the disk, which may be full. */
export const flushMsMax = 500;

export interface ShardRhythm {
  /** Figures are sent this often while there are scans, and once this long after the last. */
  readonly figuresMs: number;
  /** A shard with nothing to do wakes this often by itself, looks for what it may have missed, and sends its figures. */
  readonly checkMs: number;
}

export interface ShardSetup {
  readonly shard: number;
  readonly shards: number;
  /** The thread opens the store once this is 1: no other process counts. */
  readonly gate: Int32Array;
  readonly store: Place;
  readonly journalRoot: Place;
  readonly tails: SharedArrayBuffer;
  readonly consumed: SharedArrayBuffer;
  readonly visitor: VisitorSetup;
  readonly windowMs: number;
  readonly rhythm: ShardRhythm;
  readonly windowBytesMax: number;
  readonly actorsMax: number;
  readonly rawRetentionDays: number;
  readonly zones?: readonly WorkspaceZone[];
  /** Blocks up to this sequence are done with by those who make deliveries of them. */
  readonly deliveredBlock: number;
}

export type ShardCommand =
  | { readonly kind: 'stop' }
  | { readonly kind: 'delivered'; readonly block: number }
  | { readonly kind: 'zones'; readonly zones: readonly WorkspaceZone[] }
  | { readonly kind: 'expire'; readonly codes: readonly ExpiredCode[] };

export type ShardMessage =
  /** It waits at the gate. */
  | { readonly kind: 'booted' }
  /** The highest numbers in the scans that it has counted; 0 = none. */
  | {
      readonly kind: 'caught-up';
      readonly seen: { readonly code: number; readonly workspace: number };
    }
  /** Asked for by `expire`: nothing of these codes is left in the store. */
  | { readonly kind: 'expired'; readonly codeNos: readonly CodeNo[] }
  /** Damaged marks that were found again (mark-recovery.ts). */
  | { readonly kind: 'repaired'; readonly repairs: readonly MarkRepair[] }
  /** A window with scans is in the store: there are new blocks. */
  | { readonly kind: 'committed' }
  | {
      readonly kind: 'figures';
      readonly figures: ShardFigures;
      /** Records that are damaged now, as far as this thread read them; the oldest. */
      readonly damage: readonly DamagedPlace[];
      /** Why the store cannot be written, while it cannot. */
      readonly fault: string | undefined;
      /** Why a journal cannot be read, while one cannot. */
      readonly journalFault: string | undefined;
    }
  | {
      readonly kind: 'consumed';
      readonly consumed: ReadonlyArray<{ readonly journal: number; readonly position: number }>;
    };
