/**
 * What `quietzone doctor` says of a cluster, as this machine sees it: brokers, streams, clocks, addresses and the secret.
 * A fault is what would keep the node from working, or lose data; a warning is what is seldom meant so. It changes nothing.
 */
import { existsSync } from 'node:fs';
import { lookup } from 'node:dns/promises';
import { resolve } from 'node:path';
import { inspectBrokers, type BrokersSeen } from '../../cluster/nats/broker-inspection.ts';
import { logNames, logStream } from '../../cluster/nats/log-streams.ts';
import { ClusterKeys } from '../../cluster/nodes/cluster-keys.ts';
import { readEdgeAccess } from '../../cluster/nodes/node-file.ts';
import { checkSecret } from '../../cluster/nodes/secrets.ts';
import { scanStream, scanSubject, scanSubjects } from '../../cluster/scans/scan-channels.ts';
import { believedMs } from '../../cluster/signed-time.ts';
import type { Config } from '../../config.ts';
import { openDataFolder } from '../../engine/data-folder.ts';
import { openDataFiles, type OpenDataFiles } from '../../engine/opening/data-files-opening.ts';
import { isLocalUrl } from '../../model/address.ts';
import type { Clock } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import { openManagement } from '../../store/management/management.ts';
import { askMonitor, type MonitorSeen } from './broker-monitor.ts';
import { natsOptionsOf } from '../context.ts';

export interface ClusterFinding {
  readonly ok: boolean;
  readonly isWarning?: boolean;
  readonly text: string;
}

export interface ClusterDoctorOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Where a broker of this machine answers questions about itself, as config/nats has it. */
  readonly monitorUrl?: string;
}

const monitorDefault = 'http://127.0.0.1:8222';
/** Below it one machine less stops the cluster. */
const brokersMin = 3;
/** The newest fault of its log that a cluster met was mended here. */
const recommended = [2, 12, 3];
/** Events and limits of codes go by the clock. */
const clockWarnMs = 1_000;
const answerMsMax = 2_000;

const good = (text: string): ClusterFinding => ({ ok: true, text });
const warn = (text: string): ClusterFinding => ({ ok: true, isWarning: true, text });
const bad = (text: string): ClusterFinding => ({ ok: false, text });

/** Within a few seconds, of all that is asked at once. */
export async function diagnoseCluster(
  config: Config,
  { clock, monitorUrl = monitorDefault }: ClusterDoctorOptions,
): Promise<ClusterFinding[]> {
  const isEdge = config.cluster.role === 'edge';
  try {
    const [seen, monitor, address] = await Promise.all([
      inspectBrokers({ ...wantedOf(config), nats: natsOptionsOf(config), clock }),
      askMonitor(monitorUrl),
      isEdge ? coresOfEdge(config) : advertised(config),
    ]);
    const ofRole = isEdge ? rights(seen) : coreFindings(seen, monitor, config);
    const secret = isEdge ? [] : await secretOf(config);
    return [...brokers(seen), ...ofRole, ...address, ...secret];
  } catch (error) {
    return [bad(messageOf(error))];
  }
}

function wantedOf({ cluster }: Config) {
  const { nodeName: name, role, replicas } = cluster;
  if (role !== 'edge') {
    const streams = [...logNames.map(logStream), { stream: scanStream, subject: scanSubjects }];
    return { streams, replicas, publishes: [], subscribes: [] };
  }
  const publishes = [scanSubject(name), `qz.edge.${name}.join`, `qz.edge.${name}.beat`];
  const subscribes = [`qz.ask.${name}.>`, 'qz.nodes.*', 'qz.marks'];
  return { streams: [], replicas, publishes, subscribes };
}

function brokers({ brokers: all }: BrokersSeen): ClusterFinding[] {
  const answering = all.filter(({ fault }) => fault === undefined).length;
  const isMajority = answering * 2 > all.length;
  const findings = all.map(({ host, fault, isUnreached, version, isEncrypted }) => {
    if (fault !== undefined) {
      return isUnreached && isMajority
        ? warn(`${fault}; the others answer: start it again, or take it out of cluster.nats`)
        : bad(
            `${fault}; see cluster.nats (QZ_CLUSTER_NATS), cluster.credsFile and cluster.tlsCaFile`,
          );
    }
    const advice = isOlder(version) ? `; ${recommended.join('.')} or newer is better` : '';
    const tls = isEncrypted ? 'with TLS' : 'without TLS';
    return good(`broker ${host} answers ${tls}, version ${version}${advice}`);
  });
  const used = all.filter(({ fault }) => fault === undefined);
  const names = [...new Set(used.map(({ cluster }) => cluster ?? 'none'))];
  if (names.length < 2) return findings;
  const text = `brokers of cluster.nats are of several clusters (${names.join(', ')}), expected one: give them the same cluster name and routes to each other`;
  return [...findings, bad(text)];
}

function isOlder(version: string): boolean {
  const parts = version.split('.').map((part) => Number.parseInt(part, 10));
  const at = recommended.findIndex((part, index) => part !== parts[index]);
  return at >= 0 && (parts[at] ?? 0) < recommended[at]!;
}

function coreFindings(
  seen: BrokersSeen,
  monitor: MonitorSeen | undefined,
  config: Config,
): ClusterFinding[] {
  if (seen.brokers.every(({ fault }) => fault !== undefined)) return [];
  const { jetStreamFault } = seen;
  if (jetStreamFault !== undefined) {
    return [bad(`${jetStreamFault}; see jetstream and the account of this user in config/nats`)];
  }
  const local = seen.brokers.some(({ serverId }) => serverId === monitor?.serverId)
    ? monitor
    : undefined;
  return [
    good('JetStream is on for this account'),
    count(seen, local, config),
    ...streams(seen, config),
    sync(local),
    time(seen),
  ];
}

function count(
  { brokers: all, streams: known }: BrokersSeen,
  local: MonitorSeen | undefined,
  { cluster: { replicas } }: Config,
): ClusterFinding {
  const used = all.filter(({ fault }) => fault === undefined);
  const isAlone = used.every(({ cluster }) => cluster === undefined);
  const servers = new Set(used.map(({ serverId }) => serverId));
  const copies = known.map((stream) => stream.replicas ?? 0);
  const found =
    local?.clusterSize ??
    (isAlone ? 1 : Math.max(servers.size + all.length - used.length, ...copies));
  if (found >= brokersMin) return good(`${found} brokers keep the streams`);
  const text = `${found === 1 ? 'one broker keeps' : `${found} brokers keep`} the streams, expected ${brokersMin}: with fewer, one that is lost stops the cluster, and its data may be lost`;
  if (replicas === 1) return warn(`${text}; cluster.replicas is 1`);
  const remedy = 'set up three (config/nats), and name each in cluster.nats';
  const isKnown = local !== undefined || isAlone;
  return isKnown
    ? bad(`${text}; ${remedy}`)
    : warn(`${text}; more than those of cluster.nats cannot be seen from here: ${remedy}`);
}

function streams({ streams: all }: BrokersSeen, { cluster }: Config): ClusterFinding[] {
  return all.flatMap(({ name, replicas, faults, late }) => {
    if (faults.length > 0) {
      const remedy = `\`nats stream info ${name}\` shows it; a stream is changed with \`nats stream edit\``;
      return [bad(`stream ${name} cannot be relied on: ${faults.join('; ')}; ${remedy}`)];
    }
    if (replicas === undefined) {
      return [good(`stream ${name} is not there yet: the first core that starts makes it`)];
    }
    const findings = late.length === 0 ? [] : [lateText(name, late)];
    if (replicas >= brokersMin) {
      return [
        good(`stream ${name} has ${replicas} copies, and a majority of them answers`),
        ...findings,
      ];
    }
    const text = `stream ${name} has ${replicas} ${replicas === 1 ? 'copy' : 'copies'}, expected ${brokersMin}: a broker that is lost takes it along`;
    const remedy = `\`nats stream edit ${name} --replicas 3\``;
    const found =
      cluster.replicas === 1 ? warn(`${text}; cluster.replicas is 1`) : bad(`${text}; ${remedy}`);
    return [found, ...findings];
  });
}

const lateText = (name: string, late: readonly string[]): ClusterFinding =>
  warn(
    `stream ${name}: ${late.join(', ')}, expected all copies up to date; start that broker, or wait until it has caught up`,
  );

function sync(local: MonitorSeen | undefined): ClusterFinding {
  if (local === undefined) {
    return good(
      'sync_interval of the brokers cannot be seen from here: `curl localhost:8222/varz` on each must say "sync_always": true',
    );
  }
  if (local.isSyncAlways) return good('the broker of this machine syncs each write');
  return warn(
    `the broker of this machine syncs every ${local.syncSeconds} s, expected each write: acknowledged writes are lost where two machines lose power at once; set sync_interval: always in its jetstream`,
  );
}

function time({ clock }: BrokersSeen): ClusterFinding {
  if (clock === undefined) {
    return good('clocks cannot be compared yet: brokers tell the time with their streams');
  }
  const ms = Math.max(0, Math.abs(clock.aheadMs) - clock.withinMs);
  if (ms <= clockWarnMs) return good('the clocks of this machine and of the brokers agree');
  const side = clock.aheadMs > 0 ? 'behind' : 'ahead of';
  const text = `the clock of this machine is ${(ms / 1_000).toFixed(1)} s ${side} that of the brokers, expected less than 1 s: set it (chrony, systemd-timesyncd)`;
  return ms > believedMs
    ? bad(`${text}; nodes refuse each other's requests above ${believedMs / 1_000} s`)
    : warn(text);
}

function rights({ brokers: all, forbidden }: BrokersSeen): ClusterFinding[] {
  if (all.every(({ fault }) => fault !== undefined)) return [];
  if (forbidden.length === 0) return [good('this edge may publish and read all that it needs')];
  return [
    bad(
      `this edge may not ${forbidden.join(', ')}: its user needs that (accounts.conf of config/nats, under the name of cluster.nodeName)`,
    ),
  ];
}

async function coresOfEdge({ dataDir }: Config): Promise<ClusterFinding[]> {
  const cores = readEdgeAccess(resolve(dataDir))?.cores ?? [];
  if (cores.length === 0)
    return [good('this edge learns the addresses of the cores when it joins')];
  const reasons = await Promise.all(cores.map((core) => unreachable(core)));
  const isNone = reasons.every((reason) => reason !== undefined);
  return cores.map((core, at) => {
    const reason = reasons[at];
    if (reason === undefined) return good(`core ${core} answers`);
    const text = `core ${core} does not answer (${reason}), expected its API: links come from there; see cluster.advertiseUrl of that core, and the firewall`;
    return isNone ? bad(text) : warn(text);
  });
}

async function unreachable(core: string): Promise<string | undefined> {
  try {
    const url = new URL('/health/live', core);
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerMsMax) });
    await answer.body?.cancel();
    return undefined;
  } catch (error) {
    return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
  }
}

/** Where other cores and edges find this one. */
async function advertised({ cluster }: Config): Promise<ClusterFinding[]> {
  const { advertiseUrl: url, nats } = cluster;
  const remedy =
    'set cluster.advertiseUrl (QZ_CLUSTER_ADVERTISE_URL) to where the other machines reach its API';
  const areHere = nats.every((server) => {
    const text = server.includes('://') ? server : `nats://${server}`;
    return URL.canParse(text) && isLocalUrl(text);
  });
  if (isLocalUrl(url)) {
    if (areHere) return [good(`other nodes reach this one at ${url}, as all are on this machine`)];
    return [
      bad(`cluster.advertiseUrl is ${url}, which is this machine for every other one: ${remedy}`),
    ];
  }
  try {
    const { hostname } = new URL(url);
    const { address } = await lookup(hostname.replace(/^\[(.*)\]$/, '$1'));
    return isLocalUrl(`http://${address.includes(':') ? `[${address}]` : address}`) && !areHere
      ? [
          warn(
            `cluster.advertiseUrl ${url} leads to ${address} here; other machines must find another address: ${remedy}`,
          ),
        ]
      : [good(`other nodes reach this one at ${url} (${address})`)];
  } catch (error) {
    return [bad(`cluster.advertiseUrl ${url} cannot be resolved (${messageOf(error)}): ${remedy}`)];
  }
}

/** Compared with the rows that this core has applied. */
async function secretOf({ dataDir, cluster: { secret } }: Config): Promise<ClusterFinding[]> {
  const path = resolve(dataDir, 'management.mdb');
  if (!existsSync(path)) return [];
  let files: OpenDataFiles | undefined;
  try {
    files = await openDataFiles(openDataFolder(dataDir), 'read');
    const store = openManagement(path, 'read');
    try {
      checkSecret({ store, keys: new ClusterKeys(secret) });
      const isShared = [...store.cluster.secrets.keys({ limit: 1 })].length > 0;
      return isShared ? [good('cluster.secret is that of the cluster')] : [];
    } finally {
      await store.close();
    }
  } catch (error) {
    return [bad(messageOf(error))];
  } finally {
    await files?.close();
  }
}
