/** The journals of all other machines on a core: read from the log into this machine's folder, where its shards count them. */
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf, readOr } from '../../model/failure.ts';
import type { Timers } from '../../model/clock.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import { assertInPlace, type FileIdentity } from '../../engine/journal/file-identity.ts';
import type { JournalPositions } from '../../engine/journal/positions.ts';
import { beginSegment, journalFolder, recoverJournal } from '../../engine/journal/segments.ts';
import { diskAt, segmentBytesMax } from '../../engine/journal/writer.ts';
import { StoreEnvironment } from '../../store/environment.ts';
import { type PackedCode, packedField } from '../../store/management/code-codec.ts';
import { openEnvironment } from '../../store/open-environment.ts';
import { scansVersion } from '../../store/scans/scans.ts';
import type { OrderedLog } from '../log/ordered-log.ts';
import { type WorkspaceOf, wipeImpossibleFrames } from './impossible-frames.ts';
import { JournalFilesSink } from './journal-sink.ts';
import { ReadPositions } from './received-positions.ts';
import { ScanReceiver, type ScanReceiverOptions } from './scan-receiver.ts';

/** For a disk that does not answer. */
const closeMsMax = 500;
/** About 5 MB. */
const knownMax = 65_536;

export interface ReceiveSettings {
  /** The store of scans, which has the position in the log. */
  readonly store: FileIdentity;
  /** The store of management: whose code a number is. */
  readonly codes: FileIdentity;
  readonly segmentMsMax: number;
}

export interface ReceivedJournalsOptions
  extends
    ReceiveSettings,
    Pick<ScanReceiverOptions, 'isOwn' | 'isOwner' | 'onRefused' | 'rewind' | 'onMissed'> {
  readonly log: OrderedLog;
  readonly timers: Timers;
  /** The folder of all journals. */
  readonly root: FileIdentity;
  readonly tails: JournalPositions;
}

export class ReceivedJournals {
  readonly receiver: ScanReceiver;
  readonly #sink: JournalFilesSink;
  readonly #environment: StoreEnvironment;
  readonly #management: StoreEnvironment;
  #rotateFault: string | undefined;

  /** @throws DisplacedError, or Error of the store */
  constructor(options: ReceivedJournalsOptions) {
    const { store, codes, root, tails, segmentMsMax } = options;
    // Opening makes a missing store.
    assertInPlace(store);
    assertInPlace(codes);
    this.#management = new StoreEnvironment(codes.path, 'read');
    const workspaceOf = knownWorkspaces(this.#management);
    this.#environment = openEnvironment(store.path, scansVersion).environment;
    const positions = new ReadPositions(this.#environment);
    this.#sink = new JournalFilesSink({
      tails,
      recover: (journal) => recoverReceived(root, tails, journal),
      writer: { segmentBytesMax, segmentMsMax, disk: diskAt(root) },
    });
    this.receiver = new ScanReceiver({
      ...options,
      sink: this.#sink,
      wipe: (bytes, atMs) => wipeImpossibleFrames(bytes, atMs, workspaceOf),
      saved: () => positions.read(),
      save: (position) => positions.save(position),
    });
  }

  get fault(): string | undefined {
    return this.receiver.fault ?? this.#rotateFault;
  }

  /** Ends segments with old addresses. Called by a timer. */
  async rotate(nowMs: number): Promise<void> {
    try {
      await this.#sink.rotate(nowMs);
      this.#rotateFault = undefined;
    } catch (error) {
      this.#rotateFault = messageOf(error);
    }
  }

  async close(): Promise<void> {
    this.receiver.stop();
    const stores = [this.#environment, this.#management];
    const closed = this.#sink.close().then(() => Promise.all(stores.map((one) => one.close())));
    await Promise.race([closed.catch(() => undefined), pause(closeMsMax)]);
  }
}

/** A code stays in its workspace, so one that was looked up is not looked up again. */
function knownWorkspaces(management: StoreEnvironment): WorkspaceOf {
  const codes = management.table<CodeNo, PackedCode>('codes', { key: 'uint32' });
  const known = new Map<CodeNo, WorkspaceNo>();
  return (codeNo) => {
    const workspaceNo =
      known.get(codeNo) ?? readOr(() => codes.get(codeNo), undefined)?.[packedField.workspaceNo];
    if (known.size >= knownMax) known.clear();
    if (workspaceNo !== undefined) known.set(codeNo, workspaceNo);
    return workspaceNo;
  };
}

/**
 * Shards of this process have read the journal up to its tail: it continues there, uncut. A journal that was here at the
 * start was recovered before they began.
 */
function recoverReceived(
  root: FileIdentity,
  tails: JournalPositions,
  journal: number,
): { readonly folder: string; readonly position: number } {
  assertInPlace(root);
  const folder = journalFolder(root.path, journal);
  const tail = tails.position(journal);
  if (tail === 0) {
    return { folder, position: recoverJournal(folder, 0, { torn: 'kept' }).position };
  }
  // The one that was written last, by a thread that has died, can then be deleted.
  beginSegment(folder, tail);
  return { folder, position: tail };
}
