/**
 * What `quietzone doctor` says of a cluster, as this machine sees it: brokers, streams, clocks, addresses and the secret.
 * A fault keeps the node from working, or loses data; a warning is seldom intended. The doctor changes nothing.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { isFollowed } from '../log/log-beginning.ts';
import type { LogPosition } from '../log/applier.ts';
import { EnvironmentStore } from '../log/environment-store.ts';
import { inspectBrokers } from '../nats/broker-inspection.ts';
import { logNames, logStream } from '../nats/log-streams.ts';
import { beginNats } from '../nats/nats-connection.ts';
import { beatSubject, coreBeats } from '../nodes/beat-message.ts';
import { ClusterKeys } from '../nodes/cluster-keys.ts';
import { joinSubject } from '../nodes/join.ts';
import { checkSecret } from '../nodes/secrets.ts';
import { scanStream, scanSubject, scanSubjects } from '../scans/scan-messages.ts';
import type { Config } from '../../platform/config/config.ts';
import { askService } from '../../app/commands/ask-service.ts';
import { type DataFolder, dataFolderAt } from '../../app/folder/data-folder.ts';
import { folderOwner, withFolderLock } from '../../app/folder/folder-lock.ts';
import type { Clock } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import { openManagement } from '../../store/management/management.ts';
import { natsOptionsOf } from '../roles/context.ts';
import { advertisedFindings, coreAddressFindings } from './address-findings.ts';
import {
  askMonitor,
  brokerFindings,
  rightsFindings,
  streamingFindings,
} from './broker-findings.ts';
import { bad, type DoctorFinding, good } from '../../app/machine/finding.ts';

export interface ClusterDoctorOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Where a broker of this machine answers questions about itself, as config/nats has it. */
  readonly monitorUrl?: string;
}

const monitorDefault = 'http://127.0.0.1:8222';

/** Asks everything at once: a few seconds at most. */
export async function diagnoseCluster(
  config: Config,
  { clock, monitorUrl = monitorDefault }: ClusterDoctorOptions,
): Promise<DoctorFinding[]> {
  const isEdge = config.cluster.role === 'edge';
  try {
    const [seen, monitor, address] = await Promise.all([
      inspectBrokers({ ...wantedOf(config), nats: natsOptionsOf(config), clock }),
      askMonitor(monitorUrl),
      isEdge ? coreAddressFindings(config) : advertisedFindings(config),
    ]);
    const ofRole = isEdge ? rightsFindings(seen) : streamingFindings(seen, monitor, config);
    const data = isEdge ? [] : await dataFindings(config);
    return [...brokerFindings(seen), ...ofRole, ...address, ...data];
  } catch (error) {
    return [bad(messageOf(error))];
  }
}

/** Streams that a core needs, and rights that an edge does. */
function wantedOf({ cluster }: Config) {
  const { nodeName: name, role, replicas } = cluster;
  if (role !== 'edge') {
    const streams = [...logNames.map(logStream), { stream: scanStream, subject: scanSubjects }];
    return { streams, replicas, publishes: [], subscribes: [] };
  }
  const node = { name, role };
  const publishes = [scanSubject(name), joinSubject(node), beatSubject(node)];
  const subscribes = [`qz.ask.${name}.>`, coreBeats];
  return { streams: [], replicas, publishes, subscribes };
}

/** Of a core: whether it can continue with the brokers' log; of a stopped one also its secret against the rows that it has. */
async function dataFindings(config: Config): Promise<DoctorFinding[]> {
  const folder = dataFolderAt(resolve(config.dataDir));
  const { managementFile: path } = folder;
  if (!existsSync(path)) return [];
  try {
    if ((await folderOwner(folder)) !== undefined) return await runningFindings(folder);
    return await withFolderLock(folder, 'examine', async () => {
      const store = openManagement(path, 'read');
      try {
        checkSecret({ store, keys: new ClusterKeys(config.cluster.secret) });
        const isShared = [...store.cluster.secrets.keys({ limit: 1 })].length > 0;
        if (!isShared) return [];
        const position = new EnvironmentStore(store.environment).position();
        const found = await logFindings(config, position);
        return [good('cluster.secret is that of the cluster'), ...found];
      } finally {
        await store.close();
      }
    });
  } catch (error) {
    return [bad(messageOf(error))];
  }
}

async function runningFindings(folder: DataFolder): Promise<DoctorFinding[]> {
  const answer = await askService(folder, 'cluster.status', null);
  const problem: unknown = Reflect.get(Object(answer?.result), 'problem');
  return typeof problem === 'string' ? [bad(`the running core reports: ${problem}`)] : [];
}

async function logFindings(config: Config, position: LogPosition): Promise<DoctorFinding[]> {
  if (position.seq === 0) return [];
  const connection = beginNats(natsOptionsOf(config));
  try {
    if (await isFollowed({ connection, name: 'core' }, position)) {
      return [good('the data of this core continues in the log of the brokers')];
    }
    const where = `epoch ${position.epoch}, position ${position.seq}`;
    return [
      bad(
        `this core has diverged: the log of the brokers does not continue its data (${where}); where another core leads, stop this one and run \`quietzone cluster join\`; where none does, see "The brokers have lost their data" in the guide`,
      ),
    ];
  } catch {
    // The lines of the brokers say why they do not answer.
    return [];
  } finally {
    await connection.close();
  }
}
