/** What the control thread and the thread that transfers scans send each other. */
import type { FileIdentity } from '../../scans/journal/file-identity.ts';
import type { NatsOptions } from '../nats/nats-connection.ts';
import type { JournalPosition } from './scan-messages.ts';
import type { ReceiveSettings } from './received-journals.ts';

/** At a stop: for what is being written. */
export const stopMsMax = 1_500;

/** Which node writes a journal, or wrote it, and as which run of its name. */
export interface JournalOwner {
  readonly journal: number;
  readonly node: string;
  readonly run: number;
}

export interface ScanTransferSetup {
  readonly nats: NatsOptions;
  readonly run: number;
  /** Of this machine. */
  readonly journals: readonly number[];
  readonly journalRoot: FileIdentity;
  readonly tails: SharedArrayBuffer;
  /** Of a core; undefined on an edge, which only sends. */
  readonly receive: (ReceiveSettings & { readonly replicas: number }) | undefined;
  readonly owners: readonly JournalOwner[];
  readonly arrived: readonly JournalPosition[];
}

export type ScanTransferCommand =
  | { readonly kind: 'owners'; readonly owners: readonly JournalOwner[] }
  /** Own journals, as far as enough cores have them. */
  | { readonly kind: 'arrived'; readonly arrived: readonly JournalPosition[] }
  | { readonly kind: 'stop' };

export interface ScanTransferFigures {
  /** Own journals: bytes that the brokers have not acknowledged. */
  readonly backlogBytes: number;
  /** Up to which entry this core has the log on its disk, has read it, and how many it had not read. */
  readonly savedSeq: number;
  readonly readSeq: number;
  readonly behind: number;
  /** Pieces that came of a run that does not write its journal, or were none. */
  readonly dropped: number;
  /** Why something is not done now, while it is not. */
  readonly faults: readonly string[];
}

export const noFigures: ScanTransferFigures = {
  backlogBytes: 0,
  savedSeq: 0,
  readSeq: 0,
  behind: 0,
  dropped: 0,
  faults: [],
};

export type ScanTransferMessage =
  /** When it has begun, and each second in which they have changed. */
  | { readonly kind: 'figures'; readonly figures: ScanTransferFigures }
  /** A piece of this node had frames that cannot be (impossible-frames.ts). */
  | { readonly kind: 'refused'; readonly node: string; readonly frames: number }
  /** The log has removed these entries, which this core had not read. */
  | { readonly kind: 'missed'; readonly from: number; readonly to: number };
