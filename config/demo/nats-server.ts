/**
 * The nats-server that the demo and tests run, where the machine has one: `QUIETZONE_NATS_SERVER` names it; else the first
 * usable one in PATH; else the newest that fetch-nats-server.ts fetched. Tests of brokers are registered only if one is
 * found, and print the reason otherwise.
 *
 * 2.10.27 or newer: on 2.9.10, which Debian 12 has, more than one writer won 130 of 300 races for one sequence.
 */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
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

/** Where to search. */
export interface Places {
  /** If set, nothing else is searched. */
  readonly named: string | undefined;
  readonly folders: readonly string[];
  /** Each server in its own folder. */
  readonly fetched: string;
}

const oldestVersion = '2.10.27';
/** A server prints its version at once. */
const versionMsMax = 10_000;

export const fetchedServers = fileURLToPath(
  new URL('../../node_modules/.cache/quietzone-nats', import.meta.url),
);

const placesHere = (): Places => ({
  named: process.env['QUIETZONE_NATS_SERVER'],
  folders: (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''),
  fetched: fetchedServers,
});

/** The server to use where one is enough. */
export async function findNatsServer(places = placesHere()): Promise<NatsServer | Missing> {
  const { named, folders, fetched } = places;
  if (named !== undefined) return examine(named);
  const inPath = folders.map((folder) => join(folder, 'nats-server')).filter(existsSync);
  const examined = await Promise.all(inPath.map(examine));
  const found = examined.find(isServer) ?? (await findFetched(fetched)).at(-1);
  if (found !== undefined) return found;
  const [fault] = examined.filter((one) => 'missing' in one);
  return {
    missing: `${fault?.missing ?? 'no nats-server is in PATH'}, and none was fetched (npm run fetch:nats)`,
  };
}

/** Every version found, oldest first, for tests that must pass on each. */
export async function findNatsServers(places = placesHere()): Promise<readonly NatsServer[]> {
  const found = await findNatsServer(places);
  if ('missing' in found) return [];
  const others = places.named === undefined ? await findFetched(places.fetched) : [];
  const isNew = others.every(({ version }) => version !== found.version);
  return isNew ? [...others, found].sort(byVersion) : others;
}

/** The usable ones, oldest first. */
export async function findFetched(folder: string): Promise<readonly NatsServer[]> {
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder).map((name) => join(folder, name, 'nats-server'));
  const found = await Promise.all(paths.filter(existsSync).map(examine));
  return found.filter(isServer).sort(byVersion);
}

const isServer = (one: NatsServer | Missing): one is NatsServer => 'path' in one;

async function examine(path: string): Promise<NatsServer | Missing> {
  let output: string;
  try {
    const options = { timeout: versionMsMax };
    ({ stdout: output } = await promisify(execFile)(path, ['--version'], options));
  } catch (error) {
    return { missing: `${path} cannot be run (${String(Reflect.get(Object(error), 'code'))})` };
  }
  const version = /\bv?(\d+\.\d+\.\d+)/.exec(output)?.[1];
  if (version === undefined) return { missing: `${path} does not print its version` };
  if (compareVersions(version, oldestVersion) < 0) {
    return { missing: `${path} is ${version}, and cluster mode needs ${oldestVersion} or newer` };
  }
  return { path, version };
}

const byVersion = (a: NatsServer, b: NatsServer): number => compareVersions(a.version, b.version);
const compareVersions = (a: string, b: string): number =>
  a.localeCompare(b, 'en', { numeric: true });
