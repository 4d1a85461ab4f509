/** What a node knows of itself on its disk: its identity, whether it ran there last; and when it has the links of others. */
import { cpSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { firstLinksCheck } from '../../../src/cluster/nodes/first-links.ts';
import {
  checkNodeFile,
  nodeFileName,
  readNodeFile,
  writeNodeFile,
} from '../../../src/cluster/nodes/node-file.ts';
import {
  beginStart,
  confirmStart,
  noteRunning,
  readStart,
} from '../../../src/cluster/nodes/start-record.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

describe('cluster.json', () => {
  const names = { cluster: 'cl_1', node: 'n_1', name: 'berlin-1', role: 'all' } as const;
  const identity = { ...names, journals: [1, 2], run: 1 };

  test('it is read as it was written, by its owner alone', () => {
    const folder = temporaryFolder();
    expect(readNodeFile(folder)).toBeUndefined();
    writeNodeFile(folder, identity);
    expect(readNodeFile(folder)).toEqual(identity);
    expect(statSync(join(folder, nodeFileName)).mode & 0o777).toBe(0o600);
    const access = { token: 't', cores: ['http://a'] };
    const edge = { ...identity, role: 'edge', access } as const;
    writeNodeFile(folder, edge);
    expect(readNodeFile(folder)).toEqual(edge);
  });

  const wrong = [
    { ...identity, journals: [-1] },
    { ...identity, access: { token: 't' } },
  ];
  test.each(['', '{', 'null', '[]', '{}', ...wrong.map((one) => JSON.stringify(one))])(
    'damaged, it is refused with what to do: %s',
    (text) => {
      const folder = temporaryFolder();
      writeFileSync(join(folder, nodeFileName), text);
      expect(() => readNodeFile(folder)).toThrow(/cluster.json: it is damaged, .* from a backup/);
    },
  );

  test('another name, and a role with other data, are refused; a core may redirect or not', () => {
    const { name, role } = identity;
    const check = (to: object, of = {}) =>
      checkNodeFile({ ...identity, ...of }, { name, role, ...to });
    check({});
    check({ role: 'core' });
    expect(() => check({ name: 'paris' })).toThrow(
      /^Cannot start as paris: the data folder is of the node berlin-1; set cluster.nodeName/,
    );
    expect(() => check({ role: 'edge' })).toThrow(
      /^Cannot start with the role edge: the data folder is of a node with the role all/,
    );
    expect(() => check({ role: 'core' }, { role: 'edge' })).toThrow(/with the role core/);
  });
});

describe('start.json', () => {
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
});

describe('a node that has just started', () => {
  const coming = 'links that changed while this node was stopped are coming';

  test('links are coming until this node has what the cores have, and never again', () => {
    const beats = { linksBehind: 0 };
    const { problem } = firstLinksCheck({ monotonicMs: () => 0 }, beats);
    const problems = [2, 0, 3].map((links) => ((beats.linksBehind = links), problem()));
    expect(problems).toEqual([coming, undefined, undefined]);
  });

  test('without cores a node is ready after 5 s', () => {
    let nowMs = 1_000;
    const { problem } = firstLinksCheck({ monotonicMs: () => nowMs }, { linksBehind: undefined });
    nowMs = 5_999;
    expect(problem()).toBe(coming);
    nowMs = 6_000;
    expect(problem()).toBeUndefined();
  });
});
