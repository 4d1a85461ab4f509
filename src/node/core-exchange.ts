/**
 * What a core exchanges with the other cores, next to the logs that it applies:
 *
 *   transfer   journals, to the brokers and from them
 *   marks      how far each core has counted each journal, and has the logs on its disk: what none needs is deleted
 *   pruning    entries of the logs that all cores have; by the core that leads
 */
import type { LogPruning } from '../cluster/log/log-pruning.ts';
import type { NodeIdentity } from '../cluster/nodes/node-file.ts';
import type { Registry } from '../cluster/nodes/registry.ts';
import type { Marks } from '../cluster/scans/marks.ts';
import { MarksExchange } from '../cluster/scans/marks-exchange.ts';
import type { AppliedSeqs } from '../cluster/scans/scan-messages.ts';
import {
  type JournalOwner,
  ScanTransfer,
  type ScanTransferFigures,
} from '../cluster/scans/scan-transfer.ts';
import type { StoreReplication } from '../cluster/store-replication.ts';
import { closeAll, type Closers } from '../engine/closers.ts';
import type { Base } from '../modules.ts';
import { identify } from '../scans/journal/file-identity.ts';
import { systemTimers } from '../system-clock.ts';
import type { HealthCheck } from '../telemetry/health.ts';
import type { Engine } from '../services.ts';
import type { NodeContext } from './context.ts';
import { type PrunedLog, openPruning } from './core-pruning.ts';

export interface CoreExchangeOptions {
  readonly context: NodeContext;
  readonly base: Base;
  readonly identity: NodeIdentity;
  readonly nodes: Registry;
  readonly replication: StoreReplication;
  /** Of deliveries. */
  readonly deliveries: StoreReplication;
}

export class CoreExchange {
  readonly #options: CoreExchangeOptions;
  readonly #closers: Closers = [];
  #transfer: ScanTransfer | undefined;
  #marks: MarksExchange | undefined;
  /** What a loss of power leaves of both logs. */
  #flushed: AppliedSeqs = [0, 0];
  #pruning: ReadonlyMap<PrunedLog, LogPruning> = new Map();

  constructor(options: CoreExchangeOptions) {
    this.#options = options;
  }

  /** Undefined before `start`. */
  get marks(): Marks | undefined {
    return this.#marks?.marks;
  }

  get figures(): ScanTransferFigures | undefined {
    return this.#transfer?.figures;
  }

  get refusedFrames(): number {
    return this.#transfer?.refusedFrames ?? 0;
  }

  get refusedScans(): string | undefined {
    if (this.refusedFrames === 0) return undefined;
    return 'scans with an impossible time or code were refused: the log names the node, look at its clock';
  }

  get pruning(): ReadonlyMap<PrunedLog, LogPruning> {
    return this.#pruning;
  }

  get checks(): HealthCheck[] {
    const transfer = (): string | undefined => this.figures?.faults[0];
    return [
      { name: 'scans of other nodes', isWarning: true, problem: transfer },
      { name: 'refused scans', isWarning: true, problem: () => this.refusedScans },
      { name: 'missed scans', isWarning: true, problem: () => this.#missedScans() },
      { name: 'scans on the brokers', isWarning: true, problem: () => this.#scansKept() },
      { name: 'logs on the brokers', isWarning: true, problem: () => this.#logsKept() },
    ];
  }

  #missedScans(): string | undefined {
    const missed = this.#transfer?.missedEntries ?? 0;
    if (missed === 0) return undefined;
    return `${missed} messages with scans were removed before this core had them: its analytics lack those scans until \`quietzone cluster join\` copies the data of another core`;
  }

  #scansKept(): string | undefined {
    const fault = this.#pruning.get('scans')?.fault;
    return fault && `scans that all cores have, with addresses, stay on the brokers: ${fault}`;
  }

  #logsKept(): string | undefined {
    const fault = this.#pruning.get('core')?.fault ?? this.#pruning.get('delivery')?.fault;
    return fault && `changes that all cores have stay on the brokers: ${fault}`;
  }

  /** After the engine, which has recovered the journals. */
  async start(engine: Engine): Promise<void> {
    const { nodes } = this.#options;
    const transfer = this.#openTransfer(engine);
    this.#transfer = transfer;
    this.#closers.push(() => transfer.stop());
    this.#closers.push(nodes.changed.listen(() => transfer.setOwners(this.#owners())));
    await transfer.start();
    const exchange = this.#openMarks(engine, transfer);
    this.#marks = exchange;
    exchange.start();
    this.#closers.push(() => exchange.stop());
    const opened = openPruning({ ...this.#options, marks: exchange.marks });
    this.#pruning = opened.pruning;
    this.#closers.push(() => opened.close());
  }

  async close(): Promise<void> {
    await closeAll(this.#closers);
  }

  #openTransfer(engine: Engine): ScanTransfer {
    const { context, base, identity } = this.#options;
    const { journals, folder } = engine.threads;
    const { segmentMsMax } = context.config.scans;
    const { replicas } = context.config.cluster;
    const store = identify(base.folder.scansFile);
    const codes = identify(base.folder.managementFile);
    return new ScanTransfer({
      nats: context.nats,
      journals: identity.journals,
      run: identity.run,
      journalRoot: journals.root,
      tails: journals.tails,
      receive: { store, codes, segmentMsMax, replicas },
      owners: this.#owners(),
      clock: base.clock,
      log: base.log,
      whenInPlace: () => folder.whenInPlace(),
    });
  }

  #openMarks({ threads }: Engine, transfer: ScanTransfer): MarksExchange {
    const { context, identity, nodes } = this.#options;
    return new MarksExchange({
      connection: context.connection,
      timers: systemTimers,
      nodeName: context.config.cluster.nodeName,
      journals: identity.journals,
      own: {
        savedSeq: () => transfer.figures.savedSeq,
        counted: () => threads.shards.counted(),
        cores: () => new Map(nodes.cores().map(({ name, run }) => [name, run])),
        coresChanged: nodes.changed,
        applied: () => this.#applied(),
      },
      onArrived: (arrived) => transfer.arrived(arrived),
    });
  }

  /** Reported a round later: a machine that loses power applies the rest again. */
  #applied(): AppliedSeqs {
    const { replication, deliveries } = this.#options;
    Promise.all([replication.flushedSeq(), deliveries.flushedSeq()]).then(
      (seqs) => (this.#flushed = seqs),
      () => undefined,
    );
    return this.#flushed;
  }

  #owners(): JournalOwner[] {
    const { nodes } = this.#options;
    return [...nodes.runs()].map(([journal, run]) => ({
      journal,
      run,
      node: nodes.ownerOf(journal) ?? '',
    }));
  }
}
