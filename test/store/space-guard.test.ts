import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SpaceGuard, WriteProbe } from '../../src/store/space-guard.ts';
import { temporaryFolder } from './temporary-management.ts';

const nextCycle = () => new Promise((resolve) => setImmediate(resolve));

it('probes once a cycle, refuses while probes fail, and opens with space', async () => {
  const disk = { takes: true, probes: 0 };
  const guard = new SpaceGuard(() => {
    disk.probes++;
    return disk.takes;
  });
  for (let at = 0; at < 10; at++) guard.check();
  expect(disk.probes).toBe(1);

  disk.takes = false;
  guard.check();
  await nextCycle();
  expect(() => guard.check()).toThrowError(expect.objectContaining({ code: 'storage_full' }));
  disk.takes = true;
  expect(guard.isFull).toBe(true);
  await nextCycle();
  expect(guard.isFull).toBe(false);
  guard.check();
  expect(disk.probes).toBe(3);
});

it('refuses for the rest of the cycle after a refused commit', async () => {
  const guard = new SpaceGuard(() => true);
  guard.check();
  guard.trip();
  expect(guard.isFull).toBe(true);
  await nextCycle();
  expect(guard.isFull).toBe(false);
});

it('WriteProbe leaves nothing behind, goes on in its open file, and takes a folder that is not there for a full one', () => {
  const folder = temporaryFolder();
  const probe = new WriteProbe(join(folder, 'data.mdb'));
  expect(probe.takesWrites()).toBe(true);
  expect(existsSync(join(folder, 'data.mdb.trial'))).toBe(false);
  rmSync(folder, { recursive: true });
  expect(probe.takesWrites()).toBe(true);
  probe.close();
  expect(new WriteProbe(join(folder, 'data.mdb')).takesWrites()).toBe(false);
});
