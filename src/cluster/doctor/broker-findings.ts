/** What is said of the brokers: addresses, streams, syncing, clocks, rights. */
import type { BrokersSeen } from '../nats/broker-inspection.ts';
import { proofMsMax } from '../machine-proof.ts';
import type { Config } from '../../platform/config/config.ts';
import { bad, type DoctorFinding, good, warn } from '../../app/machine/finding.ts';

/** Below it one machine less stops the cluster. */
const brokersMin = 3;
/** The first version without the faults of its logs that clusters have met. */
const recommended = [2, 12, 3];
const monitorMsMax = 1_000;
/** Times of events and limits of codes go by the clock. */
const clockWarnMs = 1_000;

export function brokerFindings({ brokers: all }: BrokersSeen): DoctorFinding[] {
  const answering = all.filter(({ fault }) => fault === undefined).length;
  const isMajority = answering * 2 > all.length;
  const findings = all.map(({ host, fault, isUnreached, version, isEncrypted }) => {
    if (fault !== undefined) {
      return isUnreached && isMajority
        ? warn(`${fault}; the others answer: start it again, or take it out of cluster.nats`)
        : bad(`${fault}; see cluster.nats (QZ_CLUSTER_NATS) and cluster.credsFile`);
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

/** Of a core: JetStream, the number of brokers, streams, syncing, clocks. */
export function streamingFindings(
  seen: BrokersSeen,
  monitor: MonitorSeen | undefined,
  config: Config,
): DoctorFinding[] {
  if (seen.brokers.every(({ fault }) => fault !== undefined)) return [];
  const { jetStreamFault } = seen;
  if (jetStreamFault !== undefined) {
    return [bad(`${jetStreamFault}; see jetstream and the account of this user in config/nats`)];
  }
  const isLocal = seen.brokers.some(({ serverId }) => serverId === monitor?.serverId);
  return [
    good('JetStream is on for this account'),
    countFinding(seen, config),
    ...streamFindings(seen, config),
    syncFinding(isLocal ? monitor : undefined),
    clockFinding(seen),
  ];
}

function countFinding(
  { brokers: all, streams: known }: BrokersSeen,
  { cluster: { replicas } }: Config,
): DoctorFinding {
  const used = all.filter(({ fault }) => fault === undefined);
  const isAlone = used.every(({ cluster }) => cluster === undefined);
  const servers = new Set(used.map(({ serverId }) => serverId));
  const copies = known.map((stream) => stream.replicas ?? 0);
  const found = isAlone ? 1 : Math.max(servers.size + all.length - used.length, ...copies);
  if (found >= brokersMin) return good(`${found} brokers keep the streams`);
  const text = `${found === 1 ? 'one broker keeps' : `${found} brokers keep`} the streams, expected ${brokersMin}: with fewer, one that is lost stops the cluster, and its data may be lost`;
  if (replicas === 1) return warn(`${text}; cluster.replicas is 1`);
  const remedy = 'set up three (config/nats), and name each in cluster.nats';
  return isAlone
    ? bad(`${text}; ${remedy}`)
    : warn(`${text}; more than those of cluster.nats cannot be seen from here: ${remedy}`);
}

function streamFindings({ streams: all }: BrokersSeen, { cluster }: Config): DoctorFinding[] {
  return all.flatMap(({ name, replicas, faults, late }) => {
    if (faults.length > 0) {
      const remedy = `\`nats stream info ${name}\` shows it; a stream is changed with \`nats stream edit\``;
      return [bad(`stream ${name} cannot be relied on: ${faults.join('; ')}; ${remedy}`)];
    }
    if (replicas === undefined) {
      return [good(`stream ${name} is not there yet: the first core that starts makes it`)];
    }
    const findings = late.length === 0 ? [] : [lateFinding(name, late)];
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

const lateFinding = (name: string, late: readonly string[]): DoctorFinding =>
  warn(
    `stream ${name}: ${late.join(', ')}, expected all copies up to date; start that broker, or wait until it has caught up`,
  );

function syncFinding(local: MonitorSeen | undefined): DoctorFinding {
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

function clockFinding({ clock }: BrokersSeen): DoctorFinding {
  if (clock === undefined) {
    return good('clocks cannot be compared yet: brokers report the time with their streams');
  }
  const ms = Math.max(0, Math.abs(clock.aheadMs) - clock.withinMs);
  if (ms <= clockWarnMs) return good('the clocks of this machine and of the brokers agree');
  const side = clock.aheadMs > 0 ? 'behind' : 'ahead of';
  const text = `the clock of this machine is ${(ms / 1_000).toFixed(1)} s ${side} that of the brokers, expected less than 1 s: set it (chrony, systemd-timesyncd)`;
  return ms > proofMsMax
    ? bad(`${text}; nodes refuse each other's requests above ${proofMsMax / 1_000} s`)
    : warn(text);
}

/** Of an edge. */
export function rightsFindings({ brokers: all, forbidden }: BrokersSeen): DoctorFinding[] {
  if (all.every(({ fault }) => fault !== undefined)) return [];
  if (forbidden.length === 0) return [good('this edge may publish and read all that it needs')];
  return [
    bad(
      `this edge may not ${forbidden.join(', ')}: its user needs that (accounts.conf of config/nats, under the name of cluster.nodeName)`,
    ),
  ];
}

/** What a broker on this machine reports at its monitoring port, and to no client. */
interface MonitorSeen {
  readonly serverId: string;
  /** Each write is on the disk before it is acknowledged. */
  readonly isSyncAlways: boolean;
  readonly syncSeconds: number;
}

/** Undefined where none answers there. */
export async function askMonitor(url: string): Promise<MonitorSeen | undefined> {
  try {
    const answer = await fetch(`${url}/varz`, { signal: AbortSignal.timeout(monitorMsMax) });
    const server: unknown = await answer.json();
    const settings = at(at(server, 'jetstream'), 'config');
    return {
      serverId: String(at(server, 'server_id')),
      isSyncAlways: at(settings, 'sync_always') === true,
      syncSeconds: Math.round(Number(at(settings, 'sync_interval') ?? 0) / 1e9),
    };
  } catch {
    return undefined;
  }
}

const at = (value: unknown, name: string): unknown => Reflect.get(Object(value), name);
