/** What is said of the addresses at which nodes of a cluster reach each other. */
import { lookup } from 'node:dns/promises';
import { resolve } from 'node:path';
import { readNodeFile } from '../nodes/node-file.ts';
import type { Config } from '../../platform/config/config.ts';
import { isLocalUrl } from '../../model/address.ts';
import { messageOf } from '../../model/failure.ts';
import { bad, type DoctorFinding, good, warn } from '../../app/machine/finding.ts';

const answerMsMax = 2_000;

/** Of an edge: whether it reaches the cores. */
export async function coreAddressFindings({ dataDir }: Config): Promise<DoctorFinding[]> {
  const cores = readNodeFile(resolve(dataDir))?.access?.cores ?? [];
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

/** Of a core: whether other nodes find it. */
export async function advertisedFindings({ cluster }: Config): Promise<DoctorFinding[]> {
  const { advertiseUrl: url, nats } = cluster;
  const remedy =
    'set cluster.advertiseUrl (QZ_CLUSTER_ADVERTISE_URL) to where the other machines reach its API';
  const areHere = nats.every((server) => {
    const text = server.includes('://') ? server : `nats://${server}`;
    return URL.parse(text) !== null && isLocalUrl(text);
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
