/**
 * What the file does before its program runs: it lays out its own files, once, in the first folder that takes them, and
 * finds damage. Which folders it trusts is tried with a small pack, in test/release/runtime-folder.test.ts.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { word } from '../support/client.ts';
import { endOf } from '../support/process.ts';
import { preload } from '../support/program.ts';
import { MemoryGroup } from '../../bench/loads/memory/memory-group.ts';
import { type Check, unless, whole } from './checks.ts';
import { openFolder, openRoot } from './place.ts';
import { bytesOf, target, until, Walk } from './walk.ts';

type Environment = Readonly<Record<string, string>>;

/** Nobody's, and without a home. */
const stranger = 54_321;

export class BootPlace {
  readonly file: string;
  readonly #parent = mkdtempSync(join(tmpdir(), 'quietzone-boot-'));
  readonly #mounted: string[] = [];

  constructor(file: string) {
    this.file = file;
    chmodSync(this.#parent, 0o755);
  }

  /** A new, empty folder. */
  folder(): string {
    return mkdtempSync(join(this.#parent, 'x'));
  }

  /** A new folder that no file may be run from. */
  noexec(): string {
    const folder = this.folder();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'noexec,mode=700', 'tmpfs', folder]);
    this.#mounted.push(folder);
    return folder;
  }

  /** `quietzone <args>` with this environment alone. */
  run(environment: Environment, args = ['help'], file = this.file): SpawnSyncReturns<string> {
    return spawnSync(file, args, { env: environment, encoding: 'utf8' });
  }

  /** The folder that this file lays out in `root`. @throws unless `help` answers and there is one alone */
  laidOut(root: string, environment: Environment): string {
    const { status, stderr } = this.run(environment);
    assert.deepEqual([status, stderr], [0, '']);
    const names = readdirSync(root).filter((name) => /^[0-9a-f]{16}$/.test(name));
    assert.equal(names.length, 1, names.join(', '));
    return join(root, names[0] ?? '');
  }

  close(): void {
    for (const path of this.#mounted) execFileSync('umount', ['--lazy', path]);
    rmSync(this.#parent, { recursive: true, force: true });
  }
}

const rootAlone = (): string | undefined =>
  process.getuid?.() === 0 ? undefined : 'it takes root on Linux';

const mountAlone = (): string | undefined => {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-mount-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', folder]);
  if (status === 0) execFileSync('umount', [folder]);
  rmSync(folder, { recursive: true });
  return status === 0 ? undefined : 'this user may not mount';
};

const littleBytes = 256 * 2 ** 20;

const groupAlone = (): string | undefined => {
  const group = MemoryGroup.open(littleBytes);
  void group?.close();
  return group === undefined ? 'this user may not limit memory' : undefined;
};

/** Joins a control group, then becomes the command. */
const joinGroup = 'echo $$ > "$0" && exec "$@"';

/** A service in little memory. @throws unless it runs with the allocator's settings, and works */
async function serveInLittle(group: MemoryGroup, file: string): Promise<void> {
  const place = openFolder(['/bin/sh', '-c', joinGroup, group.processes, file]);
  const walk = await Walk.open('file', place);
  try {
    await walk.start([]);
    walk.apiKey = walk.service.apiKey;
    assert.match(readFileSync(`/proc/${walk.service.pid}/environ`, 'latin1'), /MALLOC_ARENA_MAX=/);
    walk.code = await walk.post('/qr-codes', { target });
    await bytesOf(`${walk.service.apiUrl}/i/${word(walk.code.id)}.png`);
    assert.deepEqual(await walk.scan('8.8.8.8'), [302, target]);
    await until('it is counted', async () => (await walk.scansCounted()) === 1);
    assert.equal((await walk.service.terminate()).code, 0);
    assert.equal(group.figures().killed, 0);
  } finally {
    await walk.close();
  }
}

export const boot: ReadonlyArray<Check<BootPlace>> = [
  unless(mountAlone, 'where nothing may be run, the file ends with 1 and the reason', (place) => {
    const noexec = place.noexec();
    const { status, stdout, stderr } = place.run({ QZ_RUNTIME_DIR: noexec });
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(
      stderr,
      new RegExp(`^Cannot start: .*\n +${noexec}: .*(not permitted|failed to map)`),
    );
    assert.doesNotMatch(stderr, /^ +at /m);
  }),
  unless(rootAlone, 'a user without a home has a folder below the temporary one', (place) => {
    const temporary = place.folder();
    chmodSync(temporary, 0o1777);
    // The checkout may be closed to it.
    const file = join(temporary, 'quietzone');
    copyFileSync(place.file, file);
    const options = { env: { TMPDIR: temporary }, uid: stranger, gid: stranger };
    const { status, stderr } = spawnSync(file, ['help'], { ...options, encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
    assert.deepEqual(readdirSync(temporary), ['quietzone', `quietzone-${stranger}`]);
  }),
  unless(mountAlone, 'after `unpack`, any user serves from a read-only root', async ({ file }) => {
    const walk = await Walk.open('file', openRoot(file, 'read-only'));
    try {
      await walk.start([]);
      walk.apiKey = walk.service.apiKey;
      const { id } = await walk.post('/qr-codes', { target: 'https://example.com/' });
      await bytesOf(`${walk.service.apiUrl}/i/${word(id)}.png`);
      assert.equal((await walk.service.terminate()).code, 0);
      assert.deepEqual(walk.service.complaints, []);
    } finally {
      await walk.close();
    }
  }),
  whole('four first starts at once all run, and make one folder', async (place) => {
    const root = place.folder();
    const starts = Array.from({ length: 4 }, () =>
      endOf(spawn(place.file, ['help'], { env: { QZ_RUNTIME_DIR: root } })),
    );
    const ends = await Promise.all(starts);
    assert.deepEqual(
      ends.map(({ code, stderr }) => [code, stderr]),
      ends.map(() => [0, '']),
    );
    assert.equal(readdirSync(root).length, 1);
  }),
  whole('a start after a kill at any moment of the laying out is whole', (place) => {
    const first = place.folder();
    const folder = place.laidOut(first, { QZ_RUNTIME_DIR: first });
    const files = readdirSync(folder, { recursive: true, withFileTypes: true });
    const count = files.filter((entry) => entry.isFile()).length;
    for (const write of [1, 2, Math.floor(count / 2), count, 'renamed'] as const) {
      const root = place.folder();
      const killer =
        write === 'renamed'
          ? { NODE_OPTIONS: preload('kill-at'), KILL_AT: join(root, basename(folder)) }
          : { NODE_OPTIONS: preload('kill-at'), KILL_AT_WRITE: String(write) };
      const killed = place.run({ QZ_RUNTIME_DIR: root, ...killer });
      assert.equal(killed.signal, 'SIGKILL', `write ${write}`);
      place.laidOut(root, { QZ_RUNTIME_DIR: root });
    }
  }),
  whole('a file that is cut off says so, also where it was laid out before', (place) => {
    const before = place.folder();
    place.laidOut(before, { QZ_RUNTIME_DIR: before });
    const copy = join(place.folder(), 'quietzone');
    copyFileSync(place.file, copy);
    truncateSync(copy, statSync(copy).size - 1_000_000);
    for (const root of [place.folder(), before]) {
      const { status, stdout, stderr } = place.run({ QZ_RUNTIME_DIR: root }, ['help'], copy);
      assert.deepEqual([status, stdout], [1, '']);
      assert.match(stderr, /is damaged/);
    }
  }),
  unless(
    groupAlone,
    'in 256 MB the file restarts with the allocator’s settings',
    async ({ file }) => {
      const group = MemoryGroup.open(littleBytes);
      assert.ok(group !== undefined);
      try {
        await serveInLittle(group, file);
      } finally {
        await group.close();
      }
    },
  ),
];
