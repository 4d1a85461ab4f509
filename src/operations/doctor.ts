/** `quietzone doctor`: whether the service can start here. Changes nothing. */
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { checkNodeFile, readNodeFile } from '../cluster/nodes/node-file.ts';
import { assertNoNodeFolder } from '../cluster/nodes/node-folder.ts';
import { messageOf } from '../model/failure.ts';
import { geoWarning } from '../model/scan.ts';
import type { Config } from '../platform/config/config.ts';
import {
  DataFolderError,
  dataFolderAt,
  openDataFolder,
  openMode,
} from '../app/folder/data-folder.ts';
import { faultText, remedyFor } from '../app/folder/folder-faults.ts';
import { inspectFolder, type Inspection } from '../app/folder/installation.ts';
import { serviceAccess } from '../app/commands/folder-commands.ts';
import { configWarnings, portsOf } from '../app/machine/start-checks.ts';
import { bad, type DoctorFinding, good, warn } from '../app/machine/finding.ts';
import { measureResources, threadCounts } from '../app/machine/machine-plan.ts';
import { examineLimits, readLimits } from '../app/machine/machine-limits.ts';
import { folderOwner, withFolderLock } from '../app/folder/folder-lock.ts';
import { assertPortFree, assertTlsFiles, type TlsFiles } from '../platform/uws/port.ts';
import { shipped } from '../platform/shipped.ts';
import { systemClock } from '../platform/system-clock.ts';
import { openGeo } from '../engine/visitor/geo/geo-data.ts';
import { checkTable } from '../engine/visitor/geo/table-units.ts';

const runningText = 'a service is running on this data folder';
const freeText = 'data folder is free';

export async function diagnose(config: Config): Promise<{ text: string; ok: boolean }> {
  const folder = await examine(async () => {
    const path = resolve(config.dataDir);
    if (!existsSync(path)) {
      throw new DataFolderError(
        `data folder ${path} does not exist: \`quietzone serve\` makes it; to check another folder, set dataDir (QZ_DATA_DIR)`,
      );
    }
    const { managementFile } = openDataFolder(path);
    const state = existsSync(managementFile) ? '' : ' and is empty: the first start fills it';
    return `data folder ${path} is writable${state}`;
  });
  const findings = [
    good('configuration is valid'),
    ...ownFiles(),
    good(machine(config)),
    // The limits of this process: those of a systemd unit or a container may differ.
    ...examineLimits(config, readLimits(config.dataDir)),
    ...migration(),
    folder,
  ];
  if (folder.level === 'ok') {
    findings.push(folderMode(config.dataDir));
    const node = await examine(async () => nodeText(config));
    if (node.text !== '') findings.push(node);
    if (config.cluster.role === 'edge') findings.push(...(await edgeParts(config)));
    else if (node.level === 'ok') findings.push(...(await parts(config)));
  }
  if (config.cluster.nats.length > 0) {
    const { diagnoseCluster } = await import('../cluster/doctor/cluster-doctor.ts');
    findings.push(...(await diagnoseCluster(config, { clock: systemClock })));
  }
  for (const listener of [config.redirect, config.api]) {
    if (listener.tlsCertFile === '') continue;
    findings.push(await examine(async () => tlsFiles(listener)));
  }
  // An edge does not count.
  if (config.cluster.role !== 'edge') findings.push(...geo(config));
  findings.push(...configWarnings(config).map(warn));
  const text = findings.map(({ level, text: line }) => `${marks[level]} ${line}`).join('\n');
  return { text, ok: findings.every(({ level }) => level !== 'bad') };
}

const marks = { ok: 'ok  ', warn: 'WARN', bad: 'BAD ' } as const;

async function examine(work: () => Promise<string>): Promise<DoctorFinding> {
  try {
    return good(await work());
  } catch (error) {
    return bad(messageOf(error));
  }
}

/** The folder's node in a cluster; empty for a single machine. @throws NodeError */
function nodeText({ dataDir, cluster }: Config): string {
  const path = resolve(dataDir);
  const { nats, nodeName: name, role } = cluster;
  if (nats.length === 0) assertNoNodeFolder(path);
  if (nats.length === 0) return '';
  const node = readNodeFile(path);
  if (node === undefined)
    return `node ${name} has not joined its cluster yet: its first start joins`;
  checkNodeFile(node, { name, role });
  return `data folder belongs to node ${name}, role ${role}`;
}

/** An edge has links and journals, which need not match: it fetches damaged links again. */
async function edgeParts(config: Config): Promise<DoctorFinding[]> {
  if ((await folderOwner(dataFolderAt(resolve(config.dataDir)))) !== undefined)
    return [good(runningText)];
  return [good(freeText), ...(await ports(config))];
}

/** Whether the parts of the folder fit together, and its other requirements. */
async function parts(config: Config): Promise<DoctorFinding[]> {
  const folder = openDataFolder(config.dataDir);
  try {
    const running = await serviceAccess(folder);
    if (running !== undefined) return [good(runningText), ...partsOf(await running.inspect())];
    const found = await withFolderLock(folder, 'examine', () => inspectFolder(folder, 'start'));
    return [good(freeText), ...partsOf(found), ...(await ports(config))];
  } catch (error) {
    return [bad(messageOf(error))];
  }
}

function partsOf({ faults, mark }: Inspection): DoctorFinding[] {
  if (faults.length > 0) {
    return faults.map((fault) => bad(`${faultText(fault)}: ${remedyFor([fault])}`));
  }
  if (mark === undefined) return [good('data folder is new')];
  if (mark.state === 'new') return [good('data folder is unfinished: the first start continues')];
  const text = `parts of the data folder fit together: installation ${mark.id}, start ${mark.run}`;
  return [good(text)];
}

function tlsFiles(listener: TlsFiles): string {
  assertTlsFiles(listener);
  return `TLS certificate ${listener.tlsCertFile} and its key are readable`;
}

/** The runtime folder of the single executable, which has checked each file in it before this program started. */
function ownFiles(): DoctorFinding[] {
  const { runtimeFolder } = shipped;
  if (runtimeFolder === undefined) return [];
  const isTemporary = [tmpdir(), '/dev/shm'].some((path) => runtimeFolder.startsWith(`${path}/`));
  const found = good(`the program's files are intact, in ${runtimeFolder}`);
  if (!isTemporary) return [found];
  const text = `the program's files are in ${runtimeFolder}, which other programs may empty: set QZ_RUNTIME_DIR to a permanent folder, or run \`quietzone unpack\` as root`;
  return [found, warn(text)];
}

function machine(config: Config): string {
  const { cores, memoryBytes } = measureResources();
  const { redirect, shards, pool, webhooks } = threadCounts(config);
  const threads = {
    all: `${redirect} redirect, ${shards} shard, ${pool} pool, ${webhooks} webhook threads`,
    core: `${shards} shard, ${pool} pool, ${webhooks} webhook threads`,
    edge: `${redirect} redirect threads`,
  };
  return `${cores} cores, ${Math.floor(memoryBytes / 2 ** 20)} MiB of memory: ${threads[config.cluster.role]}`;
}

/** Absent before Linux 5.14, and on other systems. */
const migrationFile = '/proc/sys/net/ipv4/tcp_migrate_req';

/** Zero is the default of every machine, and a start does not need more. */
function migration(): DoctorFinding[] {
  try {
    if (readFileSync(migrationFile, 'utf8').trim() !== '0') return [];
  } catch {
    return [];
  }
  const text =
    'net.ipv4.tcp_migrate_req is 0: a reload resets connections that arrive just when a listener closes; set it to 1 (sysctl) to keep them';
  return [warn(text)];
}

function folderMode(dataDir: string): DoctorFinding {
  const mode = openMode(dataDir);
  if (mode === 0) return good('data folder is closed to other users');
  return bad(
    `data folder is open to other users (${mode.toString(8)}), expected 700: \`quietzone serve\` sets it if it owns the folder`,
  );
}

function geo(config: Config): DoctorFinding[] {
  const opened = openGeo(config.geo, checkTable);
  opened.close();
  if (opened.warnings.length > 0) return opened.warnings.map(bad);
  const { date } = opened;
  if (date === undefined) return [good('no geo data: countries and cities are unknown')];
  const warning = geoWarning(date, systemClock.now());
  if (warning !== undefined) return [warn(warning)];
  return [good(`geo data of ${date} is readable`)];
}

const ports = (config: Config): Promise<DoctorFinding[]> =>
  Promise.all(
    portsOf(config).map(({ host, port }) =>
      examine(async () => {
        await assertPortFree(host, port);
        return `port ${host}:${port} is free`;
      }),
    ),
  );
