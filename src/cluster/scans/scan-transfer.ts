/**
 * The thread that transfers scans, seen from the control thread, which starts it, supervises it, and sends it what it needs
 * of the cluster. After a death it starts again where the journals end, and where the log was read.
 */
import type { Clock } from '../../model/clock.ts';
import type { FileIdentity } from '../../engine/journal/file-identity.ts';
import type { JournalPositions } from '../../engine/journal/positions.ts';
import { shipped } from '../../platform/shipped.ts';
import type { Logger } from '../../platform/log.ts';
import { sparseWarning } from '../../platform/sparse-warning.ts';
import { SupervisedThread } from '../../platform/workers/supervised-thread.ts';
import type { NatsOptions } from '../nats/nats-connection.ts';
import type { Marks } from './marks.ts';
import type { JournalPosition } from './scan-messages.ts';
import type { ReceiveSettings } from './received-journals.ts';

/** At a stop: for what is being written. */
const stopMsMax = 1_500;
const arrivedMs = 1_000;

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
  /** Why something is not done now, while it is not. */
  readonly faults: readonly string[];
}

const noFigures: ScanTransferFigures = {
  backlogBytes: 0,
  savedSeq: 0,
  readSeq: 0,
  behind: 0,
  faults: [],
};

export type ScanTransferMessage =
  /** When it has begun, and each second in which they have changed. */
  | { readonly kind: 'figures'; readonly figures: ScanTransferFigures }
  /** A piece of this node had frames that cannot be (impossible-frames.ts). */
  | { readonly kind: 'refused'; readonly node: string; readonly frames: number }
  /** The log has removed these entries, which this core had not read. */
  | { readonly kind: 'missed'; readonly from: number; readonly to: number };

export interface ScanTransferOptions {
  readonly nats: NatsOptions;
  /** Of this machine, and the run of its name that writes them. */
  readonly journals: readonly number[];
  readonly run: number;
  readonly threads: {
    readonly journals: { readonly root: FileIdentity; readonly tails: JournalPositions };
    /** Resolves when the data folder is where it was. */
    readonly folder: { readonly whenInPlace: () => Promise<void> };
  };
  readonly marks: Pick<Marks, 'counted'>;
  /** Of a core; absent on an edge, which only sends. */
  readonly receive?: ScanTransferSetup['receive'];
  /** Of every journal of the cluster, on a core; changes by `setOwners`. */
  readonly owners?: readonly JournalOwner[];
  readonly clock: Clock;
  readonly log: Logger;
}

export class ScanTransfer {
  readonly #options: ScanTransferOptions;
  readonly #thread: SupervisedThread<ScanTransferSetup, ScanTransferCommand, ScanTransferMessage>;
  #owners: readonly JournalOwner[];
  #timer: NodeJS.Timeout | undefined;
  #figures = noFigures;
  /** Entries of the log that were removed before this core had read them. */
  missedEntries = 0;
  /** Frames of other nodes that cannot be. */
  refusedFrames = 0;
  readonly #warnRefused: (details: object) => void;

  constructor(options: ScanTransferOptions) {
    const { clock, log, owners = [] } = options;
    this.#options = options;
    this.#owners = owners;
    this.#warnRefused = sparseWarning(log, clock, 'scans with an impossible time or code refused');
    this.#thread = new SupervisedThread({
      file: shipped.workerFile('scan-transfer'),
      clock,
      setup: async () => {
        await options.threads.folder.whenInPlace();
        return this.#setup();
      },
      onMessage: (message) => this.#onMessage(message),
      onDeath: (reason, restarts) =>
        log.error({ reason, restarts }, 'the thread that transfers scans failed, restarting'),
    });
  }

  /** The last that the thread has sent. */
  get figures(): ScanTransferFigures {
    return this.#figures;
  }

  get restarts(): number {
    return this.#thread.restarts;
  }

  /** Own journals must be recovered, and on a core those that it has received. */
  async start(): Promise<void> {
    await this.#thread.start();
    // The thread sends again what does not arrive.
    this.#timer = setInterval(() => {
      this.#thread.send({ kind: 'arrived', arrived: this.#arrived });
    }, arrivedMs);
  }

  /** Nodes have joined, or write other journals. */
  setOwners(owners: readonly JournalOwner[]): void {
    this.#owners = owners;
    this.#thread.send({ kind: 'owners', owners });
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#thread.stop({ kind: 'stop' }, stopMsMax);
  }

  #setup(): ScanTransferSetup {
    const { nats, journals, run, threads, receive } = this.#options;
    return {
      nats,
      journals,
      run,
      journalRoot: threads.journals.root,
      tails: threads.journals.tails.memory,
      receive,
      owners: this.#owners,
      arrived: this.#arrived,
    };
  }

  get #arrived(): readonly JournalPosition[] {
    const { journals, marks } = this.#options;
    return journals.flatMap((journal): JournalPosition[] => {
      const position = marks.counted(journal);
      return position === undefined ? [] : [[journal, position]];
    });
  }

  #onMessage(message: ScanTransferMessage): void {
    const { log } = this.#options;
    if (message.kind === 'missed') {
      const { from, to } = message;
      this.missedEntries += to - from + 1;
      if (from === 1) log.warn({ to }, 'this core counts from here on: it lacks the scans before');
      else log.error({ from, to }, 'scans were removed from the log before this core had them');
      return;
    }
    if (message.kind === 'refused') {
      this.refusedFrames += message.frames;
      return this.#warnRefused({ node: message.node, frames: message.frames });
    }
    const { faults } = message.figures;
    const before = this.#figures;
    this.#figures = message.figures;
    for (const fault of faults) {
      if (!before.faults.includes(fault)) log.warn({ fault }, 'transferring scans waits, retrying');
    }
  }
}
