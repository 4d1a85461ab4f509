/** The position of a replicated environment on disk, and whom it names as leader. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Applier, emptyPosition, type LogPosition } from '../../../src/cluster/log/applier.ts';
import { encodeEntry, encodeWrites } from '../../../src/cluster/log/entry.ts';
import { EnvironmentStore } from '../../../src/cluster/log/environment-store.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';

const leader = { owner: 'berlin 1', url: 'http://10.0.0.1:8080', version: '1.0.0' };

function openedFile(): { open: () => StoreEnvironment } {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-position-'));
  const opened: StoreEnvironment[] = [];
  onTestFinished(async () => {
    for (const environment of opened) await environment.close();
    rmSync(folder, { recursive: true });
  });
  const open = (): StoreEnvironment => {
    const environment = new StoreEnvironment(join(folder, 'management.mdb'), 'create');
    opened.push(environment);
    return environment;
  };
  return { open };
}

/** After a `lead`, and then a batch of its epoch. */
function positions(): readonly LogPosition[] {
  const applier = new Applier(emptyPosition);
  const { chain } = emptyPosition;
  applier.accept(1, encodeEntry({ epoch: 1, n: 0, chain, kind: 'lead', leader, after: 0 }));
  const led = applier.position;
  const [bytes] = encodeWrites([['links', 1, Uint8Array.of(1)]]);
  if (bytes === undefined) throw new Error('no bytes');
  const content = { kind: 'tx', part: 0, parts: 1, bytes } as const;
  applier.accept(2, encodeEntry({ epoch: 1, n: 1, chain: led.chain, ...content }));
  return [led, applier.position];
}

test('the leader is stored with the position, and stays with the entries that it writes', async () => {
  const { open } = openedFile();
  const environment = open();
  const store = new EnvironmentStore(environment);
  expect(store.position().leader).toBeUndefined();
  const [led, written] = positions();
  if (led === undefined || written === undefined) throw new Error('no positions');
  await store.apply([], led);
  await store.apply([], written);
  const read = new EnvironmentStore(environment).position();
  expect(read).toMatchObject({ seq: 2, epoch: 1, n: 1, leader });
  expect(store.position()).toEqual(read);
});
