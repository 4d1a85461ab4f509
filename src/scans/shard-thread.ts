/** What the control thread and a shard's thread tell each other. */
import type { ShardFigures } from './shard.ts';
import type { VisitorSetup } from './visitor/visitor.ts';

export interface ShardThread {
  readonly shard: number;
  readonly shards: number;
  readonly storeFile: string;
  readonly journalRoot: string;
  readonly tails: SharedArrayBuffer;
  readonly visitor: VisitorSetup;
  readonly windowMs: number;
  readonly windowBytesMax: number;
  readonly actorsMax: number;
  readonly namesPerDayMax: number;
  readonly rawRetentionDays: number;
}

export type ShardRequest = { readonly kind: 'stop' };

export type ShardReport =
  | { readonly kind: 'caught-up' }
  | { readonly kind: 'figures'; readonly figures: ShardFigures; readonly fault: string | undefined }
  | {
      readonly kind: 'consumed';
      readonly consumed: ReadonlyArray<{ readonly journal: number; readonly position: number }>;
    };
