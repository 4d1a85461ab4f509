import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SpaceGuard, WriteProbe } from '../../src/store/space-guard.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('SpaceGuard', () => {
  it('tries once a turn, refuses while trials fail, and opens with space', async () => {
    const disk = { takes: true, trials: 0 };
    const guard = new SpaceGuard(() => {
      disk.trials++;
      return disk.takes;
    });
    for (let at = 0; at < 10; at++) guard.check();
    expect(disk.trials).toBe(1);

    disk.takes = false;
    guard.check();
    await nextTurn();
    expect(() => guard.check()).toThrowError(expect.objectContaining({ code: 'storage_full' }));
    disk.takes = true;
    expect(guard.isFull).toBe(true);
    await nextTurn();
    expect(guard.isFull).toBe(false);
    guard.check();
    expect(disk.trials).toBe(3);
  });

  it('refuses for the rest of the turn after a refused commit', async () => {
    const guard = new SpaceGuard(() => true);
    guard.check();
    guard.trip();
    expect(guard.isFull).toBe(true);
    await nextTurn();
    expect(guard.isFull).toBe(false);
  });
});

describe('WriteProbe', () => {
  it('leaves nothing behind, and takes a folder that is gone for a full one', () => {
    const folder = mkdtempSync(join(tmpdir(), 'quietzone-trial-'));
    const trial = new WriteProbe(join(folder, 'data.mdb'));
    expect(trial.takesWrites()).toBe(true);
    expect(existsSync(join(folder, 'data.mdb.trial'))).toBe(false);
    rmSync(folder, { recursive: true });
    expect(trial.takesWrites()).toBe(false);
    trial.close();
  });
});
