/** Messages between the control thread and a shard's thread. */
import type { ExpiredCode } from '../../model/code.ts';
import type { FileIdentity } from '../journal/file-identity.ts';
import type { WorkspaceZone } from './days/zone-cuts.ts';
import type { DamagedRecord } from '../../store/damage.ts';
import type { ShardFigures } from './shard.ts';
import type { VisitorSetup } from '../visitor/visitor.ts';
import type { CodeNo } from '../../model/numbers.ts';

/** At a stop a shard counts for so long; the rest stays in the journals. */
export const countingMsMax = 2_500;
/** Then it waits this long for the disk, which may be full. */
export const flushMsMax = 500;

export interface ShardRhythm {
  /** Between figures, and from the last scan to the last figures. */
  readonly figuresMs: number;
  /** An idle shard looks for work that it missed this often. */
  readonly checkMs: number;
}

export interface ShardSetup {
  readonly shard: number;
  readonly shards: number;
  /** The thread opens the store when this becomes 1: no other process counts then. */
  readonly gate: Int32Array;
  readonly store: FileIdentity;
  readonly journalRoot: FileIdentity;
  readonly tails: SharedArrayBuffer;
  readonly consumed: SharedArrayBuffer;
  readonly visitor: VisitorSetup;
  readonly rhythm: ShardRhythm;
  readonly windowBytesMax: number;
  readonly actorsMax: number;
  readonly rawRetentionDays: number;
  readonly zones?: readonly WorkspaceZone[];
  /** Deliveries exist for all blocks up to this sequence. */
  readonly deliveredBlock: number;
}

export type ShardCommand =
  | { readonly kind: 'stop' }
  | { readonly kind: 'delivered'; readonly block: number }
  | { readonly kind: 'zones'; readonly zones: readonly WorkspaceZone[] }
  | { readonly kind: 'expire'; readonly codes: readonly ExpiredCode[] };

export type ShardMessage =
  | { readonly kind: 'booted' }
  | {
      readonly kind: 'caught-up';
      readonly seen: { readonly code: number; readonly workspace: number };
    }
  /** Answer to `expire`: the store has nothing left of these codes. */
  | { readonly kind: 'expired'; readonly codeNos: readonly CodeNo[] }
  | { readonly kind: 'committed' }
  | {
      readonly kind: 'figures';
      readonly figures: ShardFigures;
      /** Damaged records that this thread has read; the oldest. */
      readonly damage: readonly DamagedRecord[];
      /** Why the store cannot be written; undefined = it can. */
      readonly fault: string | undefined;
      /** Why a journal cannot be read; undefined = all can. */
      readonly journalFault: string | undefined;
    }
  | {
      readonly kind: 'consumed';
      readonly consumed: ReadonlyArray<{ readonly journal: number; readonly position: number }>;
    };
