/** Marks over NATS, on every node: cores report theirs each second, and all nodes listen. A later mark repairs a lost one. */
import type { Timers } from '../../model/clock.ts';
import type { Signal } from '../../model/signal.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import { Marks } from './marks.ts';
import {
  type AppliedSeqs,
  encodeMark,
  type JournalPosition,
  type Mark,
  marksSubject,
  readMark,
} from './scan-messages.ts';

const reportMs = 1_000;

export interface MarksExchangeOptions {
  readonly connection: Pick<NatsConnection, 'publish' | 'subscribe'>;
  readonly timers: Timers;
  readonly nodeName: string;
  /** Of this machine. */
  readonly journals: readonly number[];
  /** Of a core, what it has; absent on an edge. */
  readonly own?: {
    readonly savedSeq: () => number;
    /** By journal, as far as all shards have it on the disk. */
    readonly counted: () => ReadonlyMap<number, number>;
    /** All that are registered, by name, with their runs. */
    readonly cores: () => ReadonlyMap<string, number>;
    /** Fired when they may have changed. */
    readonly coresChanged: Pick<Signal, 'listen'>;
    /** What it has applied of both logs, on its disk. */
    readonly applied: () => AppliedSeqs;
  };
  /** Called each second, with the own journals that enough cores have reported. */
  readonly onArrived: (arrived: readonly JournalPosition[]) => void;
}

export class MarksExchange {
  readonly marks = new Marks();
  readonly #options: MarksExchangeOptions;
  #unsubscribe: () => void = () => undefined;
  #unlisten: () => void = () => undefined;
  #cancel: () => void = () => undefined;

  constructor(options: MarksExchangeOptions) {
    this.#options = options;
  }

  start(): void {
    const { connection, nodeName, own } = this.#options;
    // At once: the logs keep what a core that has just registered needs.
    this.#unlisten =
      own?.coresChanged.listen(() => this.marks.setCores(own.cores())) ?? this.#unlisten;
    this.#unsubscribe = connection.subscribe(marksSubject, (body) => {
      const mark = readMark(body);
      // Its own mark it takes directly, also while NATS is away.
      if (mark !== undefined && mark.node !== nodeName) this.#take(mark);
    });
    this.#tick();
  }

  /** Reports what was counted last: the others use it while this core is away. */
  stop(): void {
    this.#unsubscribe();
    this.#unlisten();
    this.#cancel();
    this.#report();
  }

  #tick(): void {
    const { timers, journals, onArrived } = this.#options;
    this.#report();
    const arrived = journals.flatMap((journal): JournalPosition[] => {
      const position = this.marks.counted(journal);
      return position === undefined ? [] : [[journal, position]];
    });
    onArrived(arrived);
    this.#cancel = timers.after(reportMs, () => this.#tick());
  }

  #report(): void {
    const { connection, nodeName, own } = this.#options;
    if (own === undefined) return;
    const registered = own.cores();
    this.marks.setCores(registered);
    const mark = {
      node: nodeName,
      savedSeq: own.savedSeq(),
      counted: own.counted(),
      cores: [...registered.keys()],
      applied: own.applied(),
    };
    this.#take(mark);
    connection.publish(marksSubject, encodeMark(mark));
  }

  #take(mark: Mark): void {
    const { own } = this.#options;
    // An edge does not know their runs.
    if (own === undefined) this.marks.setCores(new Map(mark.cores.map((name) => [name, 0])));
    this.marks.take(mark);
  }
}
