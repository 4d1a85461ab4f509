/** A core's data folder, and servers that give copies of it as the API's port does. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CopySender } from '../../../src/cluster/copy/copy-sender.ts';
import { ClusterKeys } from '../../../src/cluster/nodes/cluster-keys.ts';
import { publishSecrets } from '../../../src/cluster/nodes/secrets.ts';
import { type DataFolder, openDataFolder } from '../../../src/engine/data-folder.ts';
import {
  beginInstallation,
  inspectFolder,
  makeInstallation,
} from '../../../src/engine/installation/installation.ts';
import { Failure } from '../../../src/model/failure.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { openManagement } from '../../../src/store/management/management.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { makeWholeFolder } from '../../engine/whole-folder.ts';

export const clusterId = 'cl_1';
export const uncounted = 'scans that are not counted';
export const segment = 'journal/7/0000000000000640.log';

export const keys = new ClusterKeys('a secret of the cluster that is long enough');
export const silent = createLog('silent');

/** With scans of another node that are not counted, keys, and what names this core. */
export async function makeCoreFolder(path: string): Promise<DataFolder> {
  const folder = await makeWholeFolder(path);
  await inEnvironment(folder.scansFile, async (environment) => {
    const table = environment.table<string, unknown>('cluster');
    await environment.transaction(() => table.put('scans', [41, [[7, 640]]]));
  });
  await inEnvironment(folder.managementFile, async (environment) => {
    const table = environment.table<string, string>('meta');
    await environment.transaction(() => table.put('test', 'copied'));
  });
  const store = openManagement(folder.managementFile);
  await publishSecrets({ store, folder: path, keys }, (bytes) => bytes.fill(7));
  await store.close();
  mkdirSync(join(path, 'journal/7'));
  writeFileSync(join(path, segment), uncounted);
  writeFileSync(join(path, 'cluster.json'), '{}');
  writeFileSync(join(path, 'delivery.results.0'), 'results');
  return folder;
}

export async function inEnvironment<T>(
  file: string,
  work: (environment: StoreEnvironment) => Promise<T> | T,
): Promise<T> {
  const environment = new StoreEnvironment(file, 'existing');
  try {
    return await work(environment);
  } finally {
    await environment.close();
  }
}

/** Of a core in its first start. */
export async function makeNewFolder(path: string): Promise<DataFolder> {
  const folder = openDataFolder(path);
  await beginInstallation(folder);
  return folder;
}

/** What the rest of a first start does. @returns faults that the start after it would find */
export async function finishStart(folder: DataFolder): Promise<readonly object[]> {
  await makeInstallation(folder, await inspectFolder(folder), (bytes) => bytes);
  const { faults, mark } = await inspectFolder(folder);
  return mark?.state === 'opened' ? faults : [{ mark }];
}

export interface Giver {
  readonly url: string;
  readonly close: () => Promise<void>;
}

export async function startGiver(
  folder: DataFolder,
  stopped: () => string | undefined = () => undefined,
): Promise<Giver> {
  const copies = new CopySender({ folder, cluster: () => clusterId, stopped, log: silent });
  const { url, close } = await serve(async (response) => {
    try {
      const body = copies.reply().body as AsyncIterable<Uint8Array>;
      await pipeline(Readable.from(body, { objectMode: false }), response);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      response.statusCode = 503;
      response.end(JSON.stringify({ detail: error.message }));
    }
  });
  const closed = async (): Promise<void> => {
    await close();
    await copies.close();
  };
  return { url, close: closed };
}

async function serve(answer: (response: ServerResponse) => Promise<void>): Promise<Giver> {
  const server = createServer((_request, response) => {
    answer(response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await server[Symbol.asyncDispose]();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** What a giver gives: the marker, what is before it, and what is after it. */
export async function record(url: string): Promise<readonly Buffer[]> {
  const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
  const at = bytes.indexOf(uncounted);
  const end = at + uncounted.length;
  return [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
}

/** Gives what was recorded, and makes no copy for it. @param change of a piece; undefined = the connection ends there */
export const startRecorded = (
  pieces: readonly Buffer[],
  change: (piece: Buffer) => Buffer | undefined = (piece) => piece,
): Promise<Giver> =>
  serve(async (response) => {
    for (const piece of pieces) {
      const sent = change(piece);
      // Not before what precedes it has gone.
      if (sent === undefined) {
        response.write('', () => response.destroy());
        return;
      }
      response.write(sent);
    }
    response.end();
  });
