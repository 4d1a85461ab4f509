/**
 * What `quietzone cluster` asks: the node of this machine, over its API's port, and once more the leader where that node
 * says that it must be. An edge has no secret to ask with: of it, what its health and metrics say.
 */
import {
  type ClusterStatus,
  isStatus,
  type NodeStatus,
  versionsText,
} from '../../cluster/control/cluster-status.ts';
import { MachineProof } from '../../cluster/machine-proof.ts';
import type {
  HandoverResult,
  LeaveResult,
  RotationResult,
} from '../../cluster/control/node-control.ts';
import { ClusterKeys } from '../../cluster/nodes/cluster-keys.ts';
import { type Config, ConfigError } from '../../config.ts';
import { Failure } from '../../model/failure.ts';
import { systemClock } from '../../system-clock.ts';
import { tableText } from '../command.ts';
import { loopbackOf } from '../health.ts';

/** A handover takes 10 s at most. */
const answerMsMax = 15_000;

/** @throws Failure, ConfigError: the message is for the operator */
export async function status(config: Config, isJson: boolean): Promise<string> {
  if (roleOf(config) === 'edge') return await edgeStatus(config, isJson);
  const seen = await ask(config, 'GET', '/cluster/status', isStatus);
  return isJson ? JSON.stringify(seen) : statusText(seen);
}

/** @throws Failure, ConfigError: the message is for the operator */
export async function handOver(config: Config, to: string | undefined): Promise<string> {
  assertCore(config);
  const path = to === undefined ? '' : `?${new URLSearchParams({ to }).toString()}`;
  const done = await ask(config, 'POST', `/cluster/handover${path}`, isHandover);
  const other = to === undefined || done.leader === to ? '' : `, not ${to}, which did not take it`;
  return `${done.leader} leads now${other}: after ${done.ms} ms`;
}

/** @throws Failure, ConfigError: the message is for the operator */
export async function leave(config: Config, name: string): Promise<string> {
  assertCore(config);
  const path = `/cluster/leave?${new URLSearchParams({ name }).toString()}`;
  const { journals } = await ask(config, 'POST', path, isLeave);
  const kept =
    journals.length === 0
      ? ''
      : `Its journals (${journals.join(', ')}) stay known: what the cores have had of its scans stays counted, and what is only on its own disk is lost. `;
  return (
    `${name} is no node of the cluster any more. ${kept}` +
    'Scans are kept for it no longer. A machine that starts under this name joins anew, with an empty data folder'
  );
}

/** @throws Failure, ConfigError: the message is for the operator */
export async function rotateSigning(config: Config): Promise<string> {
  assertCore(config);
  const { kid, away } = await ask(config, 'POST', '/cluster/rotate-signing', isRotation);
  const late =
    away.length === 0
      ? ''
      : `. Not connected now: ${away.join(', ')}; it has the key before it can lead, also after a start`;
  return `New API keys are signed with ${kid} from now on, on every core and without a restart; those that exist stay valid${late}`;
}

/** @throws ConfigError on a machine alone */
function roleOf({ cluster }: Config): Config['cluster']['role'] {
  if (cluster.nats.length > 0) return cluster.role;
  throw new ConfigError(
    'This is a machine alone: cluster.nats (QZ_CLUSTER_NATS) is not set, expected the brokers of a cluster',
  );
}

function assertCore(config: Config): void {
  if (roleOf(config) !== 'edge') return;
  throw new Failure('not_active', 'An edge cannot ask for this: use the command on a core');
}

function statusText({
  node,
  role,
  epoch,
  position,
  leader,
  problem,
  nodes,
}: ClusterStatus): string {
  const self = `${node} is ${role === 'active' ? 'active' : 'a standby'}, in epoch ${epoch} at position ${position}`;
  const other =
    leader === null ? 'no node is known to lead' : `${leader.name} leads, at ${leader.url}`;
  const lines = role === 'active' ? [self] : [self, other];
  if (problem !== null) lines.push(`problem: ${problem}`);
  const versions = versionsText(nodes);
  if (versions !== undefined) lines.push(`an upgrade is under way: ${versions}`);
  return [...lines, '', tableText(nodes.map(rowOf))].join('\n');
}

function rowOf({
  name,
  role,
  state,
  version,
  linksBehind,
  scansBehind,
  run,
  marks,
  url,
}: NodeStatus): object {
  const all = (values: ReadonlyArray<number | null>): string | null =>
    values.length === 0 ? null : values.map((value) => value ?? '-').join(' ');
  const journals = all(marks.map(({ journal }) => journal));
  const counted = all(marks.map((mark) => mark.counted));
  return {
    name,
    role,
    state,
    version,
    linksBehind,
    scansBehind,
    run,
    journals,
    counted,
    url,
  };
}

async function edgeStatus(config: Config, isJson: boolean): Promise<string> {
  const { api, metrics } = config;
  const ready = await send(urlOf(api, '/health/ready'), 'GET');
  const hasFigures = metrics.port > 0;
  const at = urlOf({ ...metrics, tlsCertFile: '' }, '/metrics');
  const figures = hasFigures ? (await send(at, 'GET')).text : '';
  const valueOf = (name: string): number => {
    const line = figures.split('\n').find((one) => one.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1) ?? NaN);
  };
  const health = readJson(ready.text);
  const reasons =
    health !== undefined && 'reasons' in health ? [health.reasons].flat().map(String) : [];
  const seen = {
    node: config.cluster.nodeName,
    role: 'edge',
    isReady: ready.status === 200,
    links: valueOf('quietzone_links{state="live"}'),
    linksBehind: valueOf('quietzone_cluster_links_behind'),
    contactSeconds: valueOf('quietzone_cluster_contact_seconds'),
    problems: reasons,
  };
  if (isJson) return JSON.stringify(seen);
  const contact = seen.contactSeconds < 0 ? 'never' : `${seen.contactSeconds.toFixed(1)} s ago`;
  const lines = [
    !hasFigures
      ? `${seen.node} is an edge; set metrics.port (QZ_METRICS_PORT) to see its links and its contact`
      : `${seen.node} is an edge with ${seen.links} links, ${seen.linksBehind} changes behind; last contact with a core: ${contact}`,
    ...reasons.map((reason) => `problem: ${reason}`),
    'The whole cluster: `quietzone cluster status` on a core',
  ];
  return lines.join('\n');
}

/** Asks the node of this machine, and the leader where it says so. @throws Failure with what was answered */
async function ask<Result extends object>(
  config: Config,
  method: string,
  path: string,
  isResult: (answer: object) => answer is Result,
): Promise<Result> {
  const proof = new MachineProof(new ClusterKeys(config.cluster.secret).requests, systemClock);
  const headers = () => proof.headersOf({ method, path });
  const own = await send(urlOf(config.api, path), method, headers());
  const leader = own.status === 307 ? URL.parse(own.location) : null;
  const { status: code, text } =
    leader === null ? own : await send(leader, method, headers(), { isOther: true });
  const answer = readJson(text);
  if (code === 200 && answer !== undefined && isResult(answer)) return answer;
  const detail =
    answer !== undefined && 'detail' in answer ? String(answer.detail) : `it answers ${code}`;
  throw new Failure('not_active', detail);
}

const isHandover = (answer: object): answer is HandoverResult => 'leader' in answer;
const isRotation = (answer: object): answer is RotationResult => 'kid' in answer;
const isLeave = (answer: object): answer is LeaveResult => 'journals' in answer;

function readJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

interface Answer {
  readonly status: number;
  readonly location: string;
  readonly text: string;
}

function urlOf(
  { host, port, tlsCertFile }: Pick<Config['api'], 'host' | 'port' | 'tlsCertFile'>,
  path: string,
): URL {
  const reached = loopbackOf[host] ?? host;
  const named = reached.includes(':') ? `[${reached}]` : reached;
  return new URL(path, `${tlsCertFile === '' ? 'http' : 'https'}://${named}:${port}`);
}

function send(
  url: URL,
  method: string,
  headers: Record<string, string> = {},
  { isOther = false } = {},
): Promise<Answer> {
  const { request } = process.getBuiltinModule(
    url.protocol === 'http:' ? 'node:http' : 'node:https',
  );
  const options = {
    method,
    headers,
    timeout: answerMsMax,
    agent: false,
    // This machine's certificate names its public address, and the connection does not leave it.
    rejectUnauthorized: isOther,
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      const { statusCode: status = 0, headers } = response;
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status, location: headers.location ?? '', text }));
      response.on('error', failed);
    });
    const failed = ({ message }: Error): void => {
      const detail = `Cannot reach the service at ${url.origin}: ${message}`;
      reject(new Failure('not_active', detail));
    };
    sent.on('timeout', () => sent.destroy(new Error(`no answer within ${answerMsMax} ms`)));
    sent.on('error', failed);
    sent.end();
  });
}
