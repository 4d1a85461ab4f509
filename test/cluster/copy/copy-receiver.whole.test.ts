/** A new core takes the data of another one: all of it, once it is whole. A copy that is cut short begins again. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  beginCopying,
  copyCore,
  endCopying,
  isCopying,
} from '../../../src/cluster/copy/copy-receiver.ts';
import { MachineProof } from '../../../src/cluster/machine-proof.ts';
import { ReadPositions } from '../../../src/cluster/scans/received-positions.ts';
import { type DataFolder, DataFolderError } from '../../../src/engine/data-folder.ts';
import { inspectFolder } from '../../../src/engine/installation/installation.ts';
import { keyFileNames } from '../../../src/engine/installation/key-files.ts';
import { systemTimers } from '../../../src/system-clock.ts';
import { memoryDisk } from '../../engine/memory-disk.ts';
import {
  callsMax,
  systemError,
  withDiskThatFails,
  withFreeBytes,
} from '../../engine/failing-disk.ts';
import { quiet } from '../../engine/whole-folder.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { stepsOfToday } from '../../seconds/runs.ts';
import {
  clusterId,
  finishStart,
  type Giver,
  inEnvironment,
  keys,
  makeCoreFolder,
  makeNewFolder,
  record,
  segment,
  silent,
  startGiver,
  startRecorded,
  uncounted,
} from './copied-folder.ts';

let parent: string;
/** Of all tests: nothing changes it. */
let source: DataFolder;
let pieces: readonly Buffer[];
let folders = 0;
const givers: Giver[] = [];

beforeAll(async () => {
  parent = mkdtempSync(join(memoryDisk, 'quietzone-copy-'));
  source = await makeCoreFolder(join(parent, 'source'));
  pieces = await record(await give(source));
});
afterEach(async () => {
  for (const giver of givers.splice(0)) await giver.close();
});
afterAll(() => rmSync(parent, { recursive: true }));

async function opened(starting: Promise<Giver>): Promise<string> {
  const giver = await starting;
  givers.push(giver);
  return giver.url;
}
const give = (...of: Parameters<typeof startGiver>): Promise<string> => opened(startGiver(...of));

/** Of `source`, whose copy is made once. */
const giveRecorded = (change?: Parameters<typeof startRecorded>[1]): Promise<string> =>
  opened(startRecorded(pieces, change));

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
  await inEnvironment(folder.managementFile, (environment) => {
    expect(environment.table('meta').get('test')).toBe('copied');
  });
  await inEnvironment(folder.scansFile, (environment) => {
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
  const stopped = await give(source, () => reason);
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

it('a full disk is told, and nothing is kept', async () => {
  const url = await giveRecorded();
  const folder = await newFolder();
  for (const call of [6, 12, 20]) {
    const full = systemError('ENOSPC');
    const copying = withDiskThatFails(call, full, false, () => copy(folder, [url]));
    const failed = await copying.catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(DataFolderError);
    expect(String(failed)).toContain('no space is left there (ENOSPC); nothing was kept');
    expect(existsSync(join(folder.path, '.copying/data'))).toBe(false);
  }
  await expect(withFreeBytes(1_000, () => copy(folder, [url]))).rejects.toThrow(
    '1.0 kB are free there',
  );
});
