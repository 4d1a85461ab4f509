/** start.json: whether a folder is where its node ran last, or a copy. */
import { cpSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  beginStart,
  confirmStart,
  noteRunning,
  readStart,
} from '../../../src/cluster/nodes/start-record.ts';
import { temporaryFolder } from '../links/feed-server.ts';

const here = { instance: 'n_0', boot: 'b1' };
const begin = (folder: string, instance: string, boot = 'b1'): boolean =>
  beginStart(folder, 'n1', { instance, boot });

test('a copy of a running folder is refused, with the machine and the remedy; the folder itself starts again', () => {
  const folder = temporaryFolder();
  expect(begin(folder, 'n_1')).toBe(false);
  noteRunning(folder, here);
  const copy = join(temporaryFolder(), 'copy');
  cpSync(folder, copy, { recursive: true });
  // As after kill -9.
  expect(begin(folder, 'n_2')).toBe(true);
  const refused = `Cannot start as n1: data folder ${copy} is a copy, made while n1 ran on ${hostname()}; start in an empty data folder`;
  expect(() => begin(copy, 'n_3')).toThrow(refused);
  expect(() => begin(copy, 'n_3')).toThrow(/remove start\.json from the copy/);
});

test('a folder that was stopped may be moved; neither there nor after a boot did this machine run it last', () => {
  const folder = temporaryFolder();
  begin(folder, 'n_1');
  noteRunning(folder, here)();
  const moved = join(temporaryFolder(), 'moved');
  cpSync(folder, moved, { recursive: true });
  expect(begin(moved, 'n_2')).toBe(false);
  noteRunning(folder, here);
  expect(begin(folder, 'n_2', 'b2')).toBe(false);
});

test('a start that was not confirmed is asked for again', () => {
  const folder = temporaryFolder();
  const starts = (start: string): readonly string[] => {
    begin(folder, start);
    return readStart(folder).starts;
  };
  expect(starts('n_1')).toEqual(['n_1']);
  confirmStart(folder);
  expect(starts('n_2')).toEqual(['n_1', 'n_2']);
  expect(starts('n_3')).toEqual(['n_1', 'n_2']);
  confirmStart(folder);
  expect(starts('n_4')).toEqual(['n_2', 'n_4']);
  writeFileSync(join(folder, 'start.json'), '{');
  expect(starts('n_5')).toEqual(['n_5']);
});
