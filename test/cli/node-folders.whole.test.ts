/** Commands in the data folders of nodes: what they read, what they refuse and in which words. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeNodeFile } from '../../src/cluster/nodes/node-file.ts';
import { noteRunning } from '../../src/cluster/nodes/start-record.ts';
import { freePorts, runCommand, settingsOf } from '../support/process.ts';

let parent: string;
let core: Readonly<Record<string, string>>;
let edge: Readonly<Record<string, string>>;

const brokers = {
  QZ_CLUSTER_NATS: 'nats://127.0.0.1:1',
  QZ_CLUSTER_PLAIN_HTTP: 'true',
  QZ_CLUSTER_NODE_NAME: 'node-1',
  QZ_CLUSTER_SECRET: 'a secret of 32 characters or more',
};
const node = { cluster: 'cl_1', node: 'n_1', name: 'node-1', journals: [1], run: 1 };

beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'quietzone-nodes-'));
  const links = join(parent, 'links.ndjson');
  writeFileSync(links, '{"target":"https://example.com/","slug":"printed"}\n');
  const ports = await freePorts();
  const environment = { QZ_SHORT_URL_BASE: 'https://qr.example' };
  core = settingsOf({ dataDir: join(parent, 'core'), ports, environment });
  const made = await runCommand(['import', links], core);
  expect(made.code).toBe(0);
  cpSync(join(parent, 'core'), join(parent, 'edge'), { recursive: true });
  writeNodeFile(join(parent, 'core'), { ...node, role: 'all' });
  noteRunning(join(parent, 'core'), { instance: 'n_1', boot: 'here' });
  chmodSync(join(parent, 'core'), 0o700);
  edge = settingsOf({ dataDir: join(parent, 'edge'), ports, environment });
  for (const part of ['scans.mdb', 'delivery.mdb', 'signing-keys.json', 'visitor.key']) {
    rmSync(join(parent, 'edge', part));
  }
  writeNodeFile(join(parent, 'edge'), { ...node, role: 'edge' });
  chmodSync(join(parent, 'edge'), 0o700);
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** What the doctor calls bad. */
const faultsIn = (text: string): string[] =>
  text.split('\n').filter((line) => line.startsWith('BAD'));
const noBroker = expect.stringContaining(
  'BAD  Cannot reach NATS at 127.0.0.1:1: connection refused',
);

const changes: ReadonlyArray<readonly string[]> = [
  ['keys', 'create', '-n', 'till'],
  ['keys', 'rotate-signing'],
  ['users', 'create', '-e', 'b@example.com', '-n', 'B'],
];

describe('in the folder of a core', () => {
  it('lists are read', async () => {
    const { code, stdout } = await runCommand(['keys', 'list', '--json'], core);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, [{ role: 'owner' }]]);
  });

  it.each(changes)('%s %s is refused, and nothing changes', async (...args) => {
    const keys = readFileSync(join(parent, 'core', 'signing-keys.json'));
    const { code, stdout, stderr } = await runCommand(args, core);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^Cannot change anything here: data folder .* is of node-1, a node of a cluster; start the node, .*\n$/,
    );
    expect(readFileSync(join(parent, 'core', 'signing-keys.json'))).toEqual(keys);
  });

  it('a plan, and an import', async () => {
    const listed = await runCommand(['workspaces', 'list', '--json'], core);
    const [{ id, plan }] = JSON.parse(listed.stdout);
    const more = join(parent, 'more.ndjson');
    writeFileSync(more, '{"target":"https://example.com/","slug":"more"}\n');
    for (const args of [
      ['workspaces', 'set-plan', id, 'business'],
      ['import', more],
    ]) {
      const { code, stderr } = await runCommand(args, core);
      expect([code, stderr]).toEqual([1, expect.stringContaining('Cannot change anything here')]);
      expect(stderr).not.toContain('    at ');
    }
    const again = await runCommand(['workspaces', 'list', '--json'], core);
    expect(JSON.parse(again.stdout)[0].plan).toBe(plan);
  });

  it('a start without statistics and a reload are refused in words', async () => {
    const anew = await runCommand(['serve', '--begin-anew', 'scans'], { ...core, ...brokers });
    expect(anew).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^Cannot start: --begin-anew is for a single machine; start the/,
      ),
    });
    for (const environment of [core, { ...core, ...brokers }]) {
      const reload = await runCommand(['reload'], environment);
      expect(reload).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^Cannot reload: a node/),
      });
    }
  });

  it('a backup of it is the data of a machine alone', async () => {
    const copy = join(parent, 'copy');
    const alone = { ...core, QZ_DATA_DIR: join(parent, 'alone') };
    expect(await runCommand(['backup', copy], core)).toMatchObject({ code: 0 });
    // Adopted later, it is no copy of a core that ran meanwhile.
    for (const name of ['cluster.json', 'start.json'])
      expect(existsSync(join(copy, name))).toBe(false);
    expect(await runCommand(['restore', copy], alone)).toMatchObject({ code: 0 });
    expect(await runCommand(['keys', 'create', '-n', 'till'], alone)).toMatchObject({ code: 0 });
  });

  it('doctor: right with the settings of the cluster, wrong without', async () => {
    const right = await runCommand(['doctor'], { ...core, ...brokers });
    expect(right.stdout).toContain('ok   data folder is of the node node-1, role all');
    expect(faultsIn(right.stdout)).toEqual([noBroker]);
    const wrong = await runCommand(['doctor'], core);
    expect(wrong).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^BAD {2}Cannot start: .*node-1/m),
    });
    const other = await runCommand(['doctor'], {
      ...core,
      ...brokers,
      QZ_CLUSTER_NODE_NAME: 'node-2',
    });
    expect(other.stdout).toMatch(/^BAD {2}Cannot start as node-2/m);
  });
});

describe('in the folder of an edge', () => {
  it.each([...changes, ['keys', 'list'], ['verify'], ['backup', 'copy']])(
    '%s %s is refused',
    async (...args) => {
      const { code, stdout, stderr } = await runCommand(args, edge);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^Cannot .* is of node-1, (an edge|a node) of a cluster[,;] .*\n$/);
    },
  );

  it('doctor finds nothing wrong but that no broker answers', async () => {
    const { QZ_CLUSTER_SECRET: _, ...known } = brokers;
    const environment = { ...edge, ...known, QZ_CLUSTER_ROLE: 'edge', QZ_API_HOST: '0.0.0.0' };
    const { stdout } = await runCommand(['doctor'], environment);
    expect(stdout).toContain('ok   data folder is of the node node-1, role edge');
    expect(faultsIn(stdout)).toEqual([noBroker]);
    // That one depends on the machine, not on the folder.
    expect(stdout).not.toMatch(/^WARN (?!net\.ipv4\.tcp_migrate_req is 0)/m);
  });
});

it('a service starts in the folder of a node as that node alone, and takes none over', async () => {
  const starts = [
    [['serve'], core, /^Cannot start: .* is of node-1, a core of a cluster, .*`quietzone backup`/],
    [
      ['serve', '--takeover'],
      { ...core, ...brokers },
      /^Cannot take over: a node of a cluster stops and starts alone/,
    ],
    [
      ['serve', '--role', 'core'],
      { ...edge, ...brokers },
      /^Cannot start with the role core: .* role edge/,
    ],
  ] as const;
  for (const [args, environment, what] of starts) {
    const { code, stdout, stderr } = await runCommand(args, environment);
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(what)]);
    expect(stderr.trimEnd()).not.toContain('\n');
  }
});
