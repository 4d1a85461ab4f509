/** Commands in data folders, of a machine alone and of nodes: what they make, read and refuse, and in which words. */
import { hash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { writeNodeFile } from '../../src/cluster/nodes/node-file.ts';
import { noteRunning } from '../../src/cluster/nodes/start-record.ts';
import { openEnvironment } from '../../src/store/open-environment.ts';
import { scansVersion } from '../../src/store/scans/scans.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
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

describe('in the folder of a machine alone', () => {
  let own: string;
  let links: string;
  beforeEach(() => {
    own = temporaryFolder();
    links = join(own, 'links.ndjson');
    writeFileSync(links, '{"target":"https://example.com/"}\n');
  });

  it.each([
    'keys create -n till --json',
    'keys list',
    'keys revoke key_00000000000000000000',
    'keys rotate-signing',
    'users create -e a@example.com -n A',
    'users reset-password -e a@example.com',
    'workspaces list',
    'workspaces set-plan ws_00000000000000000000 pro',
    'billing confirm chk_00000000000000000000',
    'backup elsewhere',
    'import LINKS --dry-run',
    'doctor',
  ])('%s on a wrong path fails, names folder and setting, and makes nothing', async (words) => {
    const missing = join(own, 'dta');
    const command = words.split(' ').map((word) => (word === 'LINKS' ? links : word));
    const { code, stdout, stderr } = await runCommand(command, { QZ_DATA_DIR: missing });
    const said = `${stdout}${stderr}`;
    expect([code, existsSync(missing)]).toEqual([1, false]);
    expect(said).toContain(`data folder ${missing}`);
    expect(said).toContain('does not exist');
    expect(said).toContain('QZ_DATA_DIR');
  });

  it('an empty folder is no service: keys are refused and nothing appears in it', async () => {
    const empty = join(own, 'empty');
    mkdirSync(empty);
    const { code, stderr } = await runCommand(['keys', 'list'], { QZ_DATA_DIR: empty });
    expect([code, readdirSync(empty)]).toEqual([1, []]);
    expect(stderr).toMatch(/^Cannot open data folder .*: it has no data, expected .* serve`\n$/);
  });

  it('an import makes the first workspace; data of a newer release is refused, and stays as it is', async () => {
    const dataDir = join(own, 'new');
    const environment = { QZ_DATA_DIR: dataDir };
    const made = await runCommand(['import', links], environment);
    expect([made.code, made.stdout]).toEqual([
      0,
      expect.stringContaining('1 row, 1 created, 0 failed'),
    ]);
    expect(made.stdout).toMatch(/password \S{24}, API key \S+ \(shown once\)/);
    expect(readdirSync(dataDir)).not.toContain('first-start.json');
    const listed = await runCommand(['workspaces', 'list', '--json'], environment);
    expect(JSON.parse(listed.stdout)).toHaveLength(1);

    const path = join(dataDir, 'scans.mdb');
    const { version, migrations } = scansVersion;
    const newer = {
      ...scansVersion,
      version: version + 1,
      migrations: [...migrations, () => undefined],
    };
    await openEnvironment(path, newer, 'existing').environment.close();
    const sums = (): string[] =>
      readdirSync(dataDir)
        .filter((name) => name.endsWith('.mdb'))
        .map((name) => hash('sha256', readFileSync(join(dataDir, name)), 'hex'));
    const before = sums();
    expect(await runCommand(['serve'], environment)).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        `Cannot open ${path}: its data has version ${version + 1}, expected ${version} or older; ` +
        'start a newer Quietzone, or restore a backup made by this one\n',
    });
    expect(sums()).toEqual(before);
  });
});

describe('in the folder of a core', () => {
  it('lists are read', async () => {
    const { code, stdout } = await runCommand(['keys', 'list', '--json'], core);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, [{ role: 'owner' }]]);
  });

  it('every change is refused, and nothing changes', async () => {
    const plan = async (): Promise<{ readonly id: string; readonly plan: string }> =>
      JSON.parse((await runCommand(['workspaces', 'list', '--json'], core)).stdout)[0];
    const keys = () => readFileSync(join(parent, 'core', 'signing-keys.json'));
    const before = [await plan(), keys()] as const;
    const more = join(parent, 'more.ndjson');
    writeFileSync(more, '{"target":"https://example.com/","slug":"more"}\n');
    const setPlan = ['workspaces', 'set-plan', before[0].id, 'business'];
    for (const args of [...changes, setPlan, ['import', more]]) {
      const { code, stdout, stderr } = await runCommand(args, core);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(
        /^(?:.*\n)?Cannot change anything here: data folder .* is of node-1, a node of a cluster; start the node, .*\n$/,
      );
    }
    expect([await plan(), keys()]).toEqual(before);
  });

  it('a start without statistics and a reload are refused in words', async () => {
    const anew = await runCommand(['serve', '--begin-anew', 'scans'], { ...core, ...brokers });
    expect(anew).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^Cannot start: --begin-anew is for a single machine; start this/,
      ),
    });
    for (const environment of [core, { ...core, ...brokers }]) {
      const reload = await runCommand(['reload'], environment);
      expect(reload).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^Cannot reload: this is a cluster node/),
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
    expect(right.stdout).toContain('ok   data folder belongs to node node-1, role all');
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
    expect(stdout).toContain('ok   data folder belongs to node node-1, role edge');
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
