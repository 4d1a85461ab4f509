/**
 * An edge of a cluster as a process: it joins, then opens what redirects (open-edge.ts) and what reports it to the others.
 *
 *   data folder -> [first start: the leader registers it] -> links, redirect threads -> scans go to the cores -> beats
 *
 * A first start waits for brokers and cores; a start on another machine or after a boot waits for the leader (claim-start.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { App, AppOptions } from '../../app/app.ts';
import { firstLinksCheck } from '../nodes/first-links.ts';
import { joinCluster } from '../nodes/join.ts';
import type { Admission } from '../nodes/join-message.ts';
import {
  checkNodeFile,
  type NodeIdentity,
  readNodeFile,
  writeNodeFile,
} from '../nodes/node-file.ts';
import { beginStart, noteRunning } from '../nodes/start-record.ts';
import { journaledOf } from '../scans/cluster-counting.ts';
import { ScanTransfer } from '../scans/scan-transfer.ts';
import type { Config } from '../../platform/config/config.ts';
import { type Closers, openWithClosers } from '../../platform/closers.ts';
import { fitToMemory } from '../../app/machine/machine-plan.ts';
import { examineMachine } from '../../app/machine/start-checks.ts';
import { openBase, thisMachine } from '../../app/modules.ts';
import { systemTimers } from '../../platform/system-clock.ts';
import type { Logger } from '../../platform/log.ts';
import { claim, joinAgain } from './claim-start.ts';
import { connectNode, createBeats, type NodeContext } from './context.ts';
import { type EdgeFolder, openEdgeFolder } from './edge/edge-folder.ts';
import { joinRequestOf } from './begin-cluster.ts';
import { type Edge, openEdge } from './open-edge.ts';
import { assertNoTakeover } from './takeover.ts';

/** At a stop: for the last scans to reach the brokers; what is left is sent by the next start. */
const sentMsMax = 1_000;
const sentStepMs = 20;

/** @throws DataFolderError, MachineLimitError, ListenError, NodeError with a text for the operator */
export async function openEdgeNode(
  configured: Config,
  log: Logger,
  { machine: given, takeover, stopping }: AppOptions = {},
): Promise<App> {
  assertNoTakeover(takeover);
  const config = fitToMemory(configured);
  const machine = { ...thisMachine, ...given };
  return await openWithClosers(async (closers) => {
    const opened = await openEdgeFolder(config.dataDir, log, closers);
    const { path } = opened.folder;
    const warnings = await examineMachine(config, path);
    const context = connectNode(config, log, machine, stopping);
    closers.push(() => context.connection.close());
    const joined = await joinAsEdge(context, path);
    const { apiPort, redirecting } = await openJoined(context, opened, joined, closers);
    for (const warning of warnings) log.warn(warning);
    return {
      apiPort,
      redirectPort: await Promise.race([redirecting, aborted(context.stopping)]),
      firstSecrets: undefined,
      secretsShown: () => undefined,
      takenOver: new Promise<never>(() => undefined),
      failed: context.failed,
    };
  });
}

/** What this node is: by its data folder, or as the leader registers it. */
async function joinAsEdge(context: NodeContext, path: string): Promise<Required<NodeIdentity>> {
  const { config, connection, log, stopping: signal } = context;
  const { nodeName: name, role } = config.cluster;
  const identity = readNodeFile(path);
  if (identity !== undefined) checkNodeFile(identity, { name, role });
  const isLastHere = beginStart(path, name, context);
  if (identity?.access !== undefined) {
    const { access } = identity;
    const admitted = await claim(context, identity, isLastHere);
    return admitted === undefined ? { ...identity, access } : store(path, name, admitted);
  }
  const request = joinRequestOf(context, identity);
  const joining = { connection, timers: systemTimers, log, request, signal };
  return store(path, name, await joinCluster(joining));
}

function store(path: string, name: string, admission: Admission): Required<NodeIdentity> {
  const { id: node, cluster, journals, run, token, cores } = admission;
  const access = { token, cores };
  const identity = { cluster, node, name, role: 'edge', journals, run, access } as const;
  writeNodeFile(path, identity);
  return identity;
}

async function openJoined(
  context: NodeContext,
  { folder, hostCommands }: EdgeFolder,
  identity: Required<NodeIdentity>,
  closers: Closers,
): Promise<Edge> {
  const { config, log, machine, nats } = context;
  const { journals, name } = identity;
  let { access } = identity;
  const noteStopped = noteRunning(folder.path, context);
  // Connected until redirects have ended.
  const beats = createBeats(context);
  closers.push(() => beats.close());
  let transfer: ScanTransfer | undefined;
  const base = openBase({ ...machine, config, folder, log }, 'create');
  const options = {
    base,
    journals,
    keptFrom: (journal: number) => beats.marks.counted(journal) ?? 0,
    token: () => access.token,
    // Those that are up, and those that were when it joined.
    cores: () => [...new Set([...beats.coreUrls(), ...access.cores])],
    checks: [firstLinksCheck(systemTimers, beats)],
    hostCommands,
    onDrained: async () => {
      noteStopped();
      beats.end();
      if (transfer !== undefined) await sendRest(transfer);
    },
  };
  const edge = await openEdge(options, closers);
  const { threads } = edge;
  transfer = new ScanTransfer({ ...base, ...identity, nats, threads, marks: beats.marks });
  await transfer.start();
  const { tails } = threads.journals;
  beats.start({
    linkNumber: () => edge.replica.number,
    journaled: () => journaledOf(machine.clock, identity, tails),
  });
  closers.push(edge.replica.applied.listen(() => beats.moved()));
  const rejoined = (admission: Admission): void => {
    ({ access } = store(folder.path, name, admission));
  };
  closers.push(joinAgain(context, identity, rejoined));
  return edge;
}

async function sendRest(transfer: ScanTransfer): Promise<void> {
  for (let waitedMs = 0; waitedMs < sentMsMax; waitedMs += sentStepMs) {
    if (transfer.figures.backlogBytes === 0) break;
    await pause(sentStepMs);
  }
  await transfer.stop();
}

/** Rejects with the signal's reason: an edge without links may wait for them forever. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}
