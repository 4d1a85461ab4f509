/**
 * `quietzone cluster join`: the folder of a core that is stopped, or an empty one, gets the data of another core.
 *
 *   scans that only this machine has? ─▶ its data is set aside ─▶ registered, copied (join-as-core.ts) ─▶ as after a first start
 *
 * The former data stays in the folder, under a name that backups leave out. `cluster.json` is set aside last: interrupted, the
 * command runs again and continues.
 */
import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join as pathOf } from 'node:path';
import type { NodeStatus } from '../../cluster/control/cluster-status.ts';
import { answered, lastIn } from '../../cluster/log-beginning.ts';
import { streamOf } from '../../cluster/nats/log-streams.ts';
import { NodeError } from '../../cluster/nodes/node-error.ts';
import {
  checkNodeFile,
  type NodeIdentity,
  nodeFileName,
  readNodeFile,
} from '../../cluster/nodes/node-file.ts';
import type { CopyProgress } from '../../engine/backup/copy-files.ts';
import { type DataFolder, openDataFolder } from '../../engine/data-folder.ts';
import {
  assertSound,
  beginInstallation,
  inspectFolder,
  makeInstallation,
} from '../../engine/installation/installation.ts';
import { syncFolder } from '../../engine/small-files.ts';
import { isLockName, FolderLock } from '../../engine/takeover/folder-lock.ts';
import { fitToMemory } from '../../engine/machine/machine-plan.ts';
import { thisMachine } from '../../modules.ts';
import { journalEnd, journalFolder } from '../../scans/journal/segments.ts';
import { systemClock, systemTimers } from '../../system-clock.ts';
import { createLog } from '../../telemetry/log.ts';
import { connectNode, type NodeContext } from '../context.ts';
import { joinAsCore } from '../join-as-core.ts';
import type { StoppedNodeOptions } from './stopped-node.ts';
import { askStatus, watchCores } from './running-cores.ts';

const setAside = '.set-aside-';

export interface JoinOptions extends StoppedNodeOptions {
  readonly progress: CopyProgress;
  /** `kept`: refused while only this machine has scans. */
  readonly scans: 'kept' | 'discarded';
}

/** @throws NodeError, DataFolderError with a text for the operator */
export async function join(options: JoinOptions): Promise<NodeIdentity> {
  const { config, say, progress, machine = thisMachine } = options;
  const folder = openDataFolder(config.dataDir);
  const known = readNodeFile(folder.path);
  if (known !== undefined) {
    checkNodeFile(known, { name: config.cluster.nodeName, role: config.cluster.role });
  }
  const lock = await FolderLock.take(folder, 'join a cluster');
  const log = createLog('warn', { write: (line) => say(plainText(line)) });
  const context = connectNode(fitToMemory(config), log, machine);
  try {
    await assertCluster(context);
    if (known !== undefined) {
      if (options.scans === 'kept') await assertCounted(folder, known, context);
      say(setDataAside(folder));
    }
    const inspection = await inspectFolder(folder);
    assertSound('join a cluster', folder, inspection);
    if (!inspection.isUnfinished) throw hasData(folder);
    if (inspection.parts.mark === undefined) await beginInstallation(folder);
    const identity = await joinAsCore(context, folder, progress);
    const { randomBytes } = machine;
    await makeInstallation(folder, await inspectFolder(folder), randomBytes);
    return identity;
  } finally {
    await context.connection.close();
    await lock.unlock();
  }
}

/** A line of the log, for a person who waits: what happens, and why. */
function plainText(line: string): string {
  const { msg, why, reason }: Readonly<Record<string, unknown>> = Object(JSON.parse(line));
  const cause = why ?? reason;
  return typeof cause === 'string' ? `${String(msg)}: ${cause}` : String(msg);
}

const hasData = ({ path }: DataFolder): NodeError =>
  new NodeError(
    `Cannot join a cluster: data folder ${path} has the data of a machine alone, expected an empty one, or that of a core`,
  );

/** @throws NodeError where there is nothing to copy */
async function assertCluster({ connection, log, stopping: signal }: NodeContext): Promise<void> {
  const brokers = { connection, timers: systemTimers, log, signal };
  if ((await answered(brokers, () => lastIn(connection, streamOf('core')))) > 0) return;
  throw new NodeError(
    'Cannot join the cluster: it has no data yet; start its first core with `quietzone serve`',
  );
}

/** @throws NodeError where only this machine may have some of its scans */
async function assertCounted(
  { journalRoot }: DataFolder,
  { name, journals, run }: NodeIdentity,
  context: NodeContext,
): Promise<void> {
  const seen = await nodesSeen(context);
  const node = seen.find((one) => one.name === name && one.run === run);
  const missing = journals.filter((journal) => {
    const counted = node?.marks.find((mark) => mark.journal === journal)?.counted ?? 0;
    return journalEnd(journalFolder(journalRoot, journal)) > counted;
  });
  if (missing.length === 0) return;
  throw new NodeError(
    `Cannot join the cluster again: the journals ${missing.join(', ')} of ${name} have scans that not enough other cores have counted. ` +
      'Start it as it is, until `quietzone cluster status` on another core shows all as counted; or give them up with --discard-scans',
  );
}

/** As a core that runs knows them. @throws NodeError */
async function nodesSeen(context: NodeContext): Promise<readonly NodeStatus[]> {
  for (const core of await watchCores(context)) {
    try {
      return (await askStatus(context.config, core)).nodes;
    } catch {
      // The next one.
    }
  }
  throw new NodeError(
    'Cannot join the cluster again: no running core says what it has counted; start one, or use --discard-scans',
  );
}

/** @returns a sentence about where it is */
function setDataAside({ path }: DataFolder): string {
  const time = new Date(systemClock.now()).toISOString().replaceAll(':', '-').slice(0, 19);
  const to = pathOf(path, `before-join${setAside}${time}`);
  mkdirSync(to, { mode: 0o700 });
  const isKept = (name: string): boolean =>
    name.includes(setAside) ||
    isLockName(name) ||
    ['cache', 'service.pid', 'lost+found'].includes(name);
  const names = readdirSync(path).filter((name) => !isKept(name) && name !== nodeFileName);
  for (const name of [...names, nodeFileName]) renameSync(pathOf(path, name), pathOf(to, name));
  syncFolder(to);
  syncFolder(path);
  return `The data of before is in ${to}; delete it when this core has joined and nothing of it is missed`;
}
