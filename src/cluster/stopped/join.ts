/**
 * `quietzone cluster join`: sets the data of a stopped core aside, so that its next start copies that of another core.
 *
 *   scans that only this machine has? ─▶ its data is set aside ─▶ the next start is a first one (join-as-core.ts)
 *
 * The former data stays in the folder, under a name that backups leave out. `cluster.json` is set aside last: interrupted, the
 * command runs again and continues.
 */
import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join as pathOf } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { lastIn } from '../log/log-beginning.ts';
import { streamOf } from '../nats/log-streams.ts';
import { coreBeats, readBeat } from '../nodes/beat-message.ts';
import { NodeError } from '../nodes/node-error.ts';
import {
  checkNodeFile,
  type NodeIdentity,
  nodeFileName,
  readNodeFile,
} from '../nodes/node-file.ts';
import { type DataFolder, openDataFolder } from '../../app/folder/data-folder.ts';
import { syncFolder } from '../../platform/small-files.ts';
import { isLockName, withFolderLock } from '../../app/folder/folder-lock.ts';
import { journalEnd, journalFolder } from '../../engine/journal/segments.ts';
import { systemClock } from '../../platform/system-clock.ts';
import type { NodeContext } from '../roles/context.ts';
import { type StoppedNodeOptions, withBrokers } from './stopped-node.ts';

const setAside = '.set-aside-';
/** Each core that runs reports every second what it has counted. */
const beatsMs = 2_500;

export interface JoinOptions extends StoppedNodeOptions {
  /** `kept`: refused while only this machine has scans. */
  readonly scans: 'kept' | 'discarded';
}

/** @returns where its data is @throws NodeError, DataFolderError with a text for the operator */
export async function join(options: JoinOptions): Promise<string> {
  const { config } = options;
  const folder = openDataFolder(config.dataDir);
  const known = readNodeFile(folder.path);
  if (known === undefined) {
    throw new NodeError(
      `Cannot join a cluster: data folder ${folder.path} is not of a core; a start in an empty folder joins by itself`,
    );
  }
  checkNodeFile(known, { name: config.cluster.nodeName, role: config.cluster.role });
  return await withFolderLock(folder, 'join a cluster', () =>
    withBrokers(options, 'join a cluster', async (context) => {
      await assertCluster(context);
      if (options.scans === 'kept') await assertCounted(folder, known, context);
      return setDataAside(folder);
    }),
  );
}

/** @throws NodeError where there is nothing to copy */
async function assertCluster({ connection }: NodeContext): Promise<void> {
  if ((await lastIn(connection, streamOf('core'))) > 0) return;
  throw new NodeError(
    'Cannot join the cluster: its log is empty, and this core would begin it without data; ' +
      'where the brokers have lost their data, run `quietzone cluster reseed` on the core that has most',
  );
}

/** @throws NodeError where only this machine may have some of its scans */
async function assertCounted(
  { journalRoot }: DataFolder,
  { name, journals }: NodeIdentity,
  { connection }: NodeContext,
): Promise<void> {
  const counted = new Map<number, number>();
  const end = connection.subscribe(coreBeats, (body) => {
    for (const [journal, position] of readBeat(body)?.mark?.counted ?? []) {
      counted.set(journal, Math.max(position, counted.get(journal) ?? 0));
    }
  });
  await pause(beatsMs);
  end();
  const missing = journals.filter(
    (journal) => journalEnd(journalFolder(journalRoot, journal)) > (counted.get(journal) ?? 0),
  );
  if (missing.length === 0) return;
  throw new NodeError(
    `Cannot join the cluster again: the journals ${missing.join(', ')} of ${name} have scans that no core that runs has counted. ` +
      'Start it as it is, until `quietzone cluster status` on another core shows all as counted; or give them up with --discard-scans',
  );
}

/** @returns where it is */
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
  return to;
}
