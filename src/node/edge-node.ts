/**
 * An edge of a cluster as a process: it joins, and opens what redirects (open-edge.ts) beside what tells the others of it.
 *
 *   data folder -> [first start: the leader registers it] -> links, redirect threads -> scans go to the cores -> beats
 *
 * A first start waits for brokers and cores; one on another machine, or after a boot, for the leader (claim-start.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { App, AppOptions } from '../app.ts';
import { Beats } from '../cluster/nodes/beats.ts';
import { FirstLinks } from '../cluster/nodes/first-links.ts';
import { joinCluster } from '../cluster/nodes/join.ts';
import type { Admission } from '../cluster/nodes/join-message.ts';
import {
  checkNodeFile,
  type EdgeAccess,
  type NodeIdentity,
  readEdgeAccess,
  readNodeFile,
  writeEdgeAccess,
  writeNodeFile,
} from '../cluster/nodes/node-file.ts';
import { beginStart, noteRunning } from '../cluster/nodes/start-record.ts';
import { journaledOf } from '../cluster/scans/cluster-counting.ts';
import { MarksExchange } from '../cluster/scans/marks-exchange.ts';
import { ScanTransfer } from '../cluster/scans/scan-transfer.ts';
import type { Config } from '../config.ts';
import { closeAll, type Closers } from '../engine/closers.ts';
import { fitToMemory } from '../engine/machine/machine-plan.ts';
import { assertPortsFree, startWarnings } from '../engine/start-checks.ts';
import { assertTlsFiles } from '../http/port.ts';
import { messageOf } from '../model/failure.ts';
import { thisMachine } from '../modules.ts';
import { systemTimers } from '../system-clock.ts';
import type { Logger } from '../telemetry/log.ts';
import { claimStart, listenMs } from './claim-start.ts';
import { connectNode, type NodeContext } from './context.ts';
import { EdgeFolder } from './edge/edge-folder.ts';
import { joinRequestOf } from './join-as-core.ts';
import { Ending } from './ending.ts';
import { type Edge, openEdge } from './open-edge.ts';
import { assertNoTakeover } from './takeover.ts';

/** At a stop: for the last scans to reach the brokers; what is left is sent by the next start. */
const sentMsMax = 1_000;
const sentStepMs = 20;

/** @throws DataFolderError, MachineLimitError, ListenError, NodeError with a text for the operator */
export async function openEdgeNode(
  configured: Config,
  log: Logger,
  { machine, takeover, stopping }: AppOptions = {},
): Promise<App> {
  assertNoTakeover(takeover);
  const config = fitToMemory(configured);
  const folder = await EdgeFolder.open(config.dataDir, log);
  const closers: Closers = [() => folder.close()];
  const close = (): Promise<void> => closeAll(closers);
  try {
    const warnings = startWarnings(config, folder.folder.path);
    await assertPortsFree(config);
    assertTlsFiles(config.redirect);
    assertTlsFiles(config.api);
    const context = connectNode(config, log, { ...thisMachine, ...machine }, stopping);
    closers.push(() => context.connection.close());
    const edge = await EdgeNode.open(context, folder, closers);
    for (const warning of warnings) log.warn(warning);
    return { ...(await edge.app()), close };
  } catch (error) {
    await close();
    throw error;
  }
}

class EdgeNode {
  readonly #context: NodeContext;
  readonly #path: string;
  readonly #identity: NodeIdentity;
  #access: EdgeAccess;
  readonly #ending: Ending;
  #edge: Edge | undefined;
  #beats: Beats | undefined;
  readonly #firstLinks = new FirstLinks(systemTimers);
  #transfer: ScanTransfer | undefined;

  private constructor(
    context: NodeContext,
    path: string,
    identity: NodeIdentity,
    access: EdgeAccess,
  ) {
    this.#context = context;
    this.#ending = new Ending(context.log);
    this.#path = path;
    this.#identity = identity;
    this.#access = access;
  }

  static async open(context: NodeContext, folder: EdgeFolder, closers: Closers): Promise<EdgeNode> {
    const { path } = folder.folder;
    const { nodeName: name, role } = context.config.cluster;
    const known = readNodeFile(path);
    if (known !== undefined) checkNodeFile(known, { name, role });
    const isLastHere = beginStart(path, name, context);
    const access = known && readEdgeAccess(path);
    if (known !== undefined && access !== undefined) {
      const request = joinRequestOf(context, known);
      const claim = { timers: systemTimers, request, isLastHere, withinMs: listenMs };
      const admitted = await claimStart({ ...context, ...claim });
      const identity = admitted ? keep(path, name, admitted) : known;
      const node = new EdgeNode(context, path, identity, admitted ?? access);
      await node.#open(folder, closers);
      node.#joinAgain(closers);
      return node;
    }
    const admitted = await join(context, known, context.stopping);
    const node = new EdgeNode(context, path, keep(path, name, admitted), admitted);
    await node.#open(folder, closers);
    return node;
  }

  async app(): Promise<Omit<App, 'close'>> {
    const edge = this.#edge!;
    return {
      apiPort: edge.apiPort,
      redirectPort: await unlessStopped(edge.redirecting, this.#context.stopping),
      firstSecrets: undefined,
      secretsShown: () => undefined,
      takenOver: new Promise(() => undefined),
      failed: this.#ending.told,
    };
  }

  async #open(folder: EdgeFolder, closers: Closers): Promise<void> {
    const { config, log, machine, connection } = this.#context;
    const { journals } = this.#identity;
    const marks = new MarksExchange({
      connection,
      timers: systemTimers,
      nodeName: config.cluster.nodeName,
      journals,
      onArrived: (arrived) => this.#transfer?.arrived(arrived),
    });
    // Closes the folder, too, also where it cannot open.
    closers.shift();
    const noteStopped = noteRunning(this.#path, this.#context);
    const edge = await openEdge({
      config,
      log,
      machine,
      folder,
      node: { journals, token: () => this.#access.token, cores: () => this.#cores() },
      journals: {
        known: { numbers: () => journals, endAtLeast: () => 0 },
        keptFrom: (journal) => marks.marks.counted(journal) ?? 0,
        // Cores may have what stands behind a damaged end: its positions are not given out again.
        recovery: () => ({ torn: 'kept' }),
      },
      checks: [
        {
          name: 'links since the last start',
          problem: () => this.#firstLinks.problem(this.#beats),
        },
      ],
      onDrained: () => {
        noteStopped();
        return this.#sendRest();
      },
    });
    // Up and in contact until redirects have ended.
    closers.push(() => this.#beats?.close());
    closers.push(() => edge.close());
    this.#edge = edge;
    await this.#startTransfer(edge);
    marks.start();
    closers.push(() => marks.stop());
    this.#startBeats(edge, closers);
  }

  async #startTransfer(edge: Edge): Promise<void> {
    const { nats, log, machine } = this.#context;
    const { journals, folder } = edge.threads;
    const { journals: own, run } = this.#identity;
    this.#transfer = new ScanTransfer({
      nats,
      journals: own,
      run,
      journalRoot: journals.root,
      tails: journals.tails,
      owners: [],
      clock: machine.clock,
      log,
      whenInPlace: () => folder.whenInPlace(),
    });
    await this.#transfer.start();
  }

  /** Redirects have ended. */
  async #sendRest(): Promise<void> {
    this.#beats?.end();
    const transfer = this.#transfer;
    if (transfer === undefined) return;
    for (let waitedMs = 0; waitedMs < sentMsMax; waitedMs += sentStepMs) {
      if (transfer.figures.backlogBytes === 0) break;
      await pause(sentStepMs);
    }
    await transfer.stop();
  }

  #startBeats(edge: Edge, closers: Closers): void {
    const { connection, config, instance, machine, self } = this.#context;
    const { nodeName: name, role } = config.cluster;
    const { version } = self;
    const beats = new Beats({
      connection,
      timers: systemTimers,
      self: { name, instance, role, redirects: true, url: '', version },
      linkNumber: () => edge.linkNumber,
      journaled: () => journaledOf(machine.clock, this.#identity, edge.threads.journals.tails),
      onDouble: (detail) => this.#ending.tell(detail),
    });
    this.#beats = beats;
    closers.push(edge.linksMoved.listen(() => beats.moved()));
  }

  /** Those that are up, and those that were when it joined. */
  #cores(): string[] {
    const up = this.#beats?.coreUrls() ?? [];
    return [...new Set([...up, ...this.#access.cores])];
  }

  /** It may have more threads now, and cores other addresses. */
  #joinAgain(closers: Closers): void {
    const ended = new AbortController();
    closers.push(() => ended.abort());
    const { name, node } = this.#identity;
    const admitted = (admission: Admission): void => {
      if (admission.id === node) {
        keep(this.#path, name, admission);
        this.#access = admission;
      } else {
        this.#ending.tell(
          `Cannot go on as ${name}: the cluster knows another machine under this name`,
        );
      }
    };
    join(this.#context, this.#identity, ended.signal).then(admitted, (error: unknown) => {
      if (!ended.signal.aborted) this.#ending.tell(messageOf(error));
    });
  }
}

function join(
  context: NodeContext,
  identity: NodeIdentity | undefined,
  signal?: AbortSignal,
): Promise<Admission> {
  const { connection, log } = context;
  const request = joinRequestOf(context, identity);
  return joinCluster({ connection, timers: systemTimers, log, request, ...(signal && { signal }) });
}

/** @returns what the node is from here on */
function keep(path: string, name: string, admitted: Admission): NodeIdentity {
  const { id: node, cluster, journals, run, token, cores } = admitted;
  // First what it is of no use without.
  writeEdgeAccess(path, { token, cores });
  const identity = { cluster, node, name, role: 'edge', journals, run } as const;
  writeNodeFile(path, identity);
  return identity;
}

/** An edge that has no links yet may wait for them for ever. @throws the signal's reason */
async function unlessStopped<T>(waiting: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([waiting, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
