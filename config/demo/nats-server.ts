/**
 * The nats-server of the demo and the tests: `QUIETZONE_NATS_SERVER` names it; else the first usable one in PATH; else the
 * one that fetch-nats-server.ts fetched. Without one, tests of brokers print the reason and are not registered.
 *
 * 2.10.27 or newer: on 2.9.10, which Debian 12 has, more than one writer won 130 of 300 races for one sequence.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface NatsServer {
  readonly path: string;
  /** Such as `2.10.27`. */
  readonly version: string;
}

export interface Missing {
  /** One sentence: what was found, and why it cannot be used. */
  readonly missing: string;
}

const oldestVersion = '2.10.27';
/** A server prints its version at once. */
const versionMsMax = 10_000;

export const fetchedServer = fileURLToPath(
  new URL('../../node_modules/.cache/quietzone-nats/nats-server', import.meta.url),
);

export async function findNatsServer(
  environment: NodeJS.ProcessEnv = process.env,
  fetched = fetchedServer,
): Promise<NatsServer | Missing> {
  const { QUIETZONE_NATS_SERVER: named, PATH = '' } = environment;
  if (named !== undefined) return examineServer(named);
  const folders = PATH.split(delimiter).filter((folder) => folder !== '');
  const paths = [...folders.map((folder) => join(folder, 'nats-server')), fetched];
  const examined = await Promise.all(paths.filter(existsSync).map(examineServer));
  const [fault] = examined.filter((one) => 'missing' in one);
  const missing = `${fault?.missing ?? 'no nats-server is in PATH'}, and none was fetched (npm run fetch:nats)`;
  return examined.find((one) => 'path' in one) ?? { missing };
}

export async function examineServer(path: string): Promise<NatsServer | Missing> {
  let output: string;
  try {
    const options = { timeout: versionMsMax };
    ({ stdout: output } = await promisify(execFile)(path, ['--version'], options));
  } catch (error) {
    return { missing: `${path} cannot be run (${String(Reflect.get(Object(error), 'code'))})` };
  }
  const version = /\bv?(\d+\.\d+\.\d+)/.exec(output)?.[1];
  if (version === undefined) return { missing: `${path} does not print its version` };
  if (version.localeCompare(oldestVersion, 'en', { numeric: true }) < 0) {
    return { missing: `${path} is ${version}, and cluster mode needs ${oldestVersion} or newer` };
  }
  return { path, version };
}
