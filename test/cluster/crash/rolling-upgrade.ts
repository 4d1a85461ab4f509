/**
 * Upgrades a cluster of an earlier program to this one, node by node under load, in the order of the guide:
 *
 *   each standby: SIGTERM, start ──▶ `quietzone cluster handover` ──▶ the core that led ──▶ edges
 *
 * A write must be answered after each step. Both programs share the cluster meanwhile.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pause, type ProcessOptions, runCommand } from '../../support/process.ts';
import type { Failovers } from './failovers.ts';
import type { ServiceNode } from './node.ts';

/** After a step; a stream without a leader needs 10 s. */
const recoveredMsMax = 60_000;

export interface UpgradeOptions {
  readonly nodes: readonly ServiceNode[];
  readonly active: () => ServiceNode | undefined;
  readonly failovers: Pick<Failovers, 'mark' | 'recovered'>;
  readonly note: (line: string) => void;
  /** Fails the run. */
  readonly fault: (line: string) => void;
}

/** @param path of its one file, or of its sources with their packages installed @throws Error where it is neither */
export function formerProgram(path: string): NonNullable<ProcessOptions['program']> {
  const start = join(path, 'config/start.mjs');
  if (existsSync(start)) return [join(path, 'node_modules/.bin/node'), start];
  if (existsSync(path) && statSync(path).isFile()) return [path];
  throw new Error(`Cannot run ${path}: expected the one file, or a folder with config/start.mjs`);
}

export async function upgradeNodes(options: UpgradeOptions): Promise<void> {
  const { nodes, active } = options;
  const untilMs = performance.now() + recoveredMsMax;
  while (active() === undefined && performance.now() < untilMs) await pause(100);
  const led = active();
  if (led === undefined) throw new Error('Cannot upgrade: no node leads');
  const standbys = nodes.filter((node) => node !== led && node.role !== 'edge');
  for (const node of standbys) await restart(node, options);
  await handOver(led, standbys[0], options);
  await restart(led, options);
  for (const node of nodes.filter(({ role }) => role === 'edge')) await restart(node, options);
}

async function restart(node: ServiceNode, options: UpgradeOptions): Promise<void> {
  const { note, fault } = options;
  const exit = await node.terminate();
  if (exit?.code !== 0) fault(`${node.name} ended with ${JSON.stringify(exit)} at its upgrade`);
  node.upgrade();
  node.start();
  await node.ready();
  note(`${node.name} is upgraded`);
  await expectWrite(`${node.name}'s upgrade`, options);
}

async function expectWrite(after: string, { failovers, fault }: UpgradeOptions): Promise<void> {
  failovers.mark();
  if (!(await failovers.recovered(recoveredMsMax))) fault(`no write after ${after}`);
}

/** As an operator does it, on the machine that leads, by the new program. */
async function handOver(
  led: ServiceNode,
  to: ServiceNode | undefined,
  options: UpgradeOptions,
): Promise<void> {
  const { note, fault } = options;
  const environment = { ...led.environment, QZ_DATA_DIR: led.dataDir };
  const api = { QZ_API_HOST: '127.0.0.1', QZ_API_PORT: String(led.ports.api) };
  const { code, stdout, stderr } = await runCommand(
    ['cluster', 'handover', '--to', to?.name ?? ''],
    { ...environment, ...api },
  );
  const said = `${stdout}${stderr}`.trim();
  note(`handover: ${said}`);
  if (code !== 0) fault(`the handover ended with ${code}: ${said}`);
  await expectWrite('the handover', options);
}
