/** A new core takes the data of another one: all of it, once it is whole. A copy that is cut short begins again. */
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  beginCopying,
  copyCore,
  endCopying,
  isCopying,
} from '../../../src/cluster/copy/copy-receiver.ts';
import { CopySender } from '../../../src/cluster/copy/copy-sender.ts';
import { MachineProof } from '../../../src/cluster/machine-proof.ts';
import { ClusterKeys } from '../../../src/cluster/nodes/cluster-keys.ts';
import { publishSecrets } from '../../../src/cluster/nodes/secrets.ts';
import { ReadPositions } from '../../../src/cluster/scans/received-positions.ts';
import {
  type DataFolder,
  DataFolderError,
  openDataFolder,
} from '../../../src/app/folder/data-folder.ts';
import {
  beginInstallation,
  inspectFolder,
  makeInstallation,
} from '../../../src/app/folder/installation.ts';
import { keyFileNames } from '../../../src/app/folder/key-files.ts';
import { Failure } from '../../../src/model/failure.ts';
import { withEnvironment } from '../../../src/store/environment.ts';
import { openManagement } from '../../../src/store/management/management.ts';
import { systemTimers } from '../../../src/platform/system-clock.ts';
import { createLog } from '../../../src/platform/log.ts';
import {
  callsMax,
  systemError,
  withDiskThatFails,
  withFreeBytes,
} from '../../app/folder/failing-disk.ts';
import { memoryDisk } from '../../app/folder/memory-disk.ts';
import { makeWholeFolder, quiet } from '../../app/folder/whole-folder.ts';
import { stepsOfToday } from '../../seconds/runs.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';

let parent: string;
/** Of all tests: nothing changes it. */
let source: DataFolder;
let pieces: readonly Buffer[];
let folders = 0;
const closers: Array<() => Promise<void>> = [];

const clusterId = 'cl_1';
const uncounted = 'scans that are not counted';
const segment = 'journal/7/0000000000000640.log';

const keys = new ClusterKeys('a secret of the cluster that is long enough');
const silent = createLog('silent');

/** With scans of another node that are not counted, keys, and what names this core. */
async function makeCoreFolder(path: string): Promise<DataFolder> {
  const folder = await makeWholeFolder(path);
  await withEnvironment(folder.scansFile, 'existing', async (environment) => {
    const table = environment.table<string, unknown>('cluster');
    await environment.transaction(() => table.put('scans', [41, [[7, 640]]]));
  });
  await withEnvironment(folder.managementFile, 'existing', async (environment) => {
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

/** Of a core in its first start. */
async function makeNewFolder(path: string): Promise<DataFolder> {
  const folder = openDataFolder(path);
  await beginInstallation(folder);
  return folder;
}

/** What the rest of a first start does. @returns faults that the start after it would find */
async function finishStart(folder: DataFolder): Promise<readonly object[]> {
  await makeInstallation(folder, await inspectFolder(folder), (bytes) => bytes);
  const { faults, mark } = await inspectFolder(folder);
  return mark?.state === 'opened' ? faults : [{ mark }];
}

/** @returns where it gives copies, as the API's port does */
async function give(folder: DataFolder, stopped?: string): Promise<string> {
  const options = { folder, cluster: () => clusterId, stopped: () => stopped, log: silent };
  const copies = new CopySender(options);
  closers.push(() => copies.close());
  return await serve(async (response) => {
    try {
      const body = copies.reply().body as AsyncIterable<Uint8Array>;
      await pipeline(Readable.from(body, { objectMode: false }), response);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      response.statusCode = 503;
      response.end(JSON.stringify({ detail: error.message }));
    }
  });
}

async function serve(answer: (response: ServerResponse) => Promise<void>): Promise<string> {
  const server = createServer((_request, response) => {
    answer(response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.closeAllConnections();
    await server[Symbol.asyncDispose]();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What a giver gives: the marker, what is before it, and what is after it. */
async function record(url: string): Promise<readonly Buffer[]> {
  const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
  const at = bytes.indexOf(uncounted);
  const end = at + uncounted.length;
  return [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
}

/**
 * Gives what was recorded of `source`, whose copy is made once.
 * @param change of a piece; undefined = the connection ends there
 */
const giveRecorded = (
  change: (piece: Buffer) => Buffer | undefined = (piece) => piece,
): Promise<string> =>
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

beforeAll(async () => {
  parent = mkdtempSync(join(memoryDisk, 'quietzone-copy-'));
  source = await makeCoreFolder(join(parent, 'source'));
  pieces = await record(await give(source));
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});
afterAll(() => rmSync(parent, { recursive: true }));

async function copy(folder: DataFolder, cores: readonly string[]): Promise<void> {
  await beginCopying(folder);
  await copyCore({
    folder,
    cores: async () => cores,
    proof: new MachineProof(keys.requests, new TestClock()),
    cluster: clusterId,
    keys,
    progress: quiet,
    timers: systemTimers,
    log: silent,
    signal: AbortSignal.timeout(30_000),
  });
  await endCopying(folder);
}

const newFolder = (): Promise<DataFolder> => makeNewFolder(join(parent, `new${++folders}`));

/** Its data is the other core's, and its own from here on. */
async function expectCopied(folder: DataFolder): Promise<void> {
  expect(isCopying(folder)).toBe(false);
  expect(readFileSync(join(folder.path, segment), 'utf8')).toBe(uncounted);
  const names = readdirSync(folder.path).filter((name) => !name.endsWith('-lock'));
  const data = ['delivery.mdb', 'journal', 'management.mdb', 'scans.mdb'];
  expect(names.toSorted()).toEqual([...data, ...keyFileNames]);
  for (const name of keyFileNames) {
    expect(readFileSync(join(folder.path, name))).toEqual(readFileSync(join(source.path, name)));
  }
  await withEnvironment(folder.managementFile, 'existing', (environment) => {
    expect(environment.table('meta').get('test')).toBe('copied');
  });
  await withEnvironment(folder.scansFile, 'existing', (environment) => {
    const { seq, tails } = new ReadPositions(environment).read();
    expect([seq, ...tails]).toEqual([41, [0, 0], [7, 640 + uncounted.length]]);
  });
  expect(await finishStart(folder)).toEqual([]);
}

it('a copy has the data and the journals at their positions, and names no other core', async () => {
  const folder = await newFolder();
  await copy(folder, [await give(source)]);
  await expectCopied(folder);
  expect(readdirSync(source.cacheRoot)).toEqual([]);
});

it('a copy that is torn, damaged, newer or of another cluster is not taken: the next core is asked', async () => {
  const torn = await giveRecorded((piece) => (piece.includes(uncounted) ? undefined : piece));
  const damaged = await giveRecorded((piece) =>
    piece.includes(uncounted) ? Buffer.from(piece.map((byte) => byte ^ 1)) : piece,
  );
  const changed = (from: RegExp, to: string): Promise<string> =>
    giveRecorded((piece) => Buffer.from(piece.toString('latin1').replace(from, to), 'latin1'));
  const other = await changed(/cl_1/, 'cl_2');
  const newer = await changed(/"management\.mdb":\d+/, '"management.mdb":99');
  const folder = await newFolder();
  // The last is asked first.
  await copy(folder, [await giveRecorded(), torn, damaged, other, newer, 'http://127.0.0.1:1']);
  await expectCopied(folder);
});

it('a core that no longer follows the log gives no copy', async () => {
  const reason = 'the log ends at 1, and 35 is applied here';
  const stopped = await give(source, reason);
  const refused = await fetch(stopped);
  expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining(reason)]);
});

it('a process that dies at any step begins again from nothing', async () => {
  const url = await giveRecorded();
  const folder = await newFolder();
  const killed = new Error('killed');
  let deaths = 0;
  const { first, every } = stepsOfToday(3);
  // Each one starts from what the previous one left and gets further.
  for (let call = first; call < callsMax; call += every) {
    const dying = withDiskThatFails(call, killed, true, () => copy(folder, [url]));
    const isDone = await dying.then(
      () => true,
      () => false,
    );
    if (isDone) break;
    deaths += 1;
    expect((await inspectFolder(folder)).faults).toEqual([]);
  }
  await expectCopied(folder);
  expect(deaths).toBeGreaterThan(10);
});

it('a full disk is reported, and no file is kept', async () => {
  const url = await giveRecorded();
  const folder = await newFolder();
  for (const call of [6, 12, 20]) {
    const full = systemError('ENOSPC');
    const copying = withDiskThatFails(call, full, false, () => copy(folder, [url]));
    const failed = await copying.catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(DataFolderError);
    expect(String(failed)).toContain('the disk is full (ENOSPC); nothing was kept');
    expect(existsSync(join(folder.path, '.copying/data'))).toBe(false);
  }
  await expect(withFreeBytes(1_000, () => copy(folder, [url]))).rejects.toThrow(
    '1.0 kB free there',
  );
});
