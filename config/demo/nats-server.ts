/**
 * The nats-server that the demo and tests run, where the machine has one: `QUIETZONE_NATS_SERVER` names it; else the first
 * in PATH that will do; else the newest that fetch-nats-server.ts fetched. Tests of brokers are registered only where one
 * is found, and print why where none is.
 *
 * Below 2.10.27 none will do: on 2.9.10, which Debian 12 has, more than one writer won 130 of 300 races for one sequence.
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
  /** One sentence: what was found, and why it will not do. */
  readonly missing: string;
}

/** Where to search. */
export interface Places {
  /** Nothing else is searched when it is given. */
  readonly named: string | undefined;
  readonly folders: readonly string[];
  /** Each server in a folder of its own. */
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

/** The one to use where one is enough. */
export async function findNatsServer(places = placesHere()): Promise<NatsServer | Missing> {
  const { named, folders, fetched } = places;
  if (named !== undefined) return examine(named);
  const inPath = folders.map((folder) => join(folder, 'nats-server')).filter(existsSync);
  const faults: string[] = [];
  for (const path of inPath) {
    const found = await examine(path);
    if (!('missing' in found)) return found;
    faults.push(found.missing);
  }
  const newest = (await findFetched(fetched)).at(-1);
  if (newest !== undefined) return newest;
  const found = faults[0] ?? 'no nats-server is in PATH';
  return { missing: `${found}, and none was fetched (npm run fetch:nats)` };
}

/** Every version at hand, oldest first, for what must be right with each of them. */
export async function findNatsServers(places = placesHere()): Promise<readonly NatsServer[]> {
  const found = await findNatsServer(places);
  if ('missing' in found) return [];
  if (places.named !== undefined) return [found];
  const others = await findFetched(places.fetched);
  const isNew = others.every(({ version }) => version !== found.version);
  return isNew ? [...others, found].sort(byVersion) : others;
}

/** Those that will do, oldest first. */
export async function findFetched(folder: string): Promise<readonly NatsServer[]> {
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder).map((name) => join(folder, name, 'nats-server'));
  const found = await Promise.all(paths.filter(existsSync).map(examine));
  return found.filter((server) => 'path' in server).sort(byVersion);
}

async function examine(path: string): Promise<NatsServer | Missing> {
  let output: string;
  try {
    ({ stdout: output } = await promisify(execFile)(path, ['--version'], {
      timeout: versionMsMax,
    }));
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return { missing: `${path} cannot be run (${why})` };
  }
  const version = /\bv?(\d+\.\d+\.\d+)/.exec(output)?.[1];
  if (version === undefined) return { missing: `${path} does not print its version` };
  if (compareVersions(version, oldestVersion) < 0) {
    return { missing: `${path} is ${version}, and cluster mode needs ${oldestVersion} or newer` };
  }
  return { path, version };
}

const byVersion = (a: NatsServer, b: NatsServer): number => compareVersions(a.version, b.version);

function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  const at = [0, 1, 2].find((part) => left?.[part] !== right?.[part]) ?? 0;
  return (left?.[at] ?? 0) - (right?.[at] ?? 0);
}
