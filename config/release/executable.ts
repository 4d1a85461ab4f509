/**
 * One executable of Node, code and data:
 *
 *   node, without its symbols ─ inject ─ boot.cjs and pack.json (a single executable application) ─ append ─ data
 *
 * Data is found by its distance from the end of the file. Nothing may change the file afterwards.
 *
 * It is made elsewhere and copied: Linux maps a file in the pieces in which it was written, until it reads it from the
 * disk again. Written by Node, 512 KB at once, 20 MB more of its code and data were resident than after a copy.
 */
import { execFile } from 'node:child_process';
import { appendFile, chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type { Pack } from '../../src/platform/shipped.ts';
import { platforms, type Target } from './natives.ts';
import { runTool } from './tools.ts';

export interface ExecutableOptions {
  readonly target: Target;
  /** Node's executable for the target. */
  readonly node: string;
  readonly boot: Uint8Array;
  readonly pack: Pack;
  readonly appended: Uint8Array;
  /** The executable that is made. */
  readonly file: string;
}

const run = promisify(execFile);

/** As Node's own documentation names it: the place in its executable that says whether a program is inside. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** @returns false where `strip` is missing: the symbols of Node, 18 MB, are still inside */
export async function makeExecutable(options: ExecutableOptions): Promise<boolean> {
  const { target, node, file, appended } = options;
  const folder = await mkdtemp(join(tmpdir(), 'quietzone-build-'));
  try {
    const blob = await makeBlob(options, folder);
    const draft = join(folder, 'executable');
    await copyFile(node, draft);
    await chmod(draft, 0o755);
    const strip =
      target === `linux-${process.arch}` ? 'strip' : `${platforms[target].triple}-strip`;
    const isStripped = runTool(strip, ['--strip-all', draft]) !== undefined;
    const inject = createRequire(import.meta.url).resolve('postject/dist/cli.js');
    await run(process.execPath, [inject, draft, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse]);
    await appendFile(draft, appended);
    await copyFile(draft, file);
    await chmod(file, 0o755);
    return isStripped;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns its path in `folder`. The same for every platform: no compiled code, no snapshot. */
async function makeBlob({ boot, pack }: ExecutableOptions, folder: string): Promise<string> {
  await writeFile(join(folder, 'boot.cjs'), boot);
  await writeFile(join(folder, 'pack.json'), JSON.stringify(pack));
  const settings = {
    main: 'boot.cjs',
    output: 'blob',
    disableExperimentalSEAWarning: true,
    useCodeCache: false,
    useSnapshot: false,
    // NODE_OPTIONS holds, arguments are the program's own.
    execArgvExtension: 'env',
    // The signal opens Node's inspector before the program can listen to it.
    execArgv: ['--disable-sigusr1'],
    assets: { 'pack.json': 'pack.json' },
  };
  await writeFile(join(folder, 'sea.json'), JSON.stringify(settings));
  await run(process.execPath, ['--experimental-sea-config', 'sea.json'], { cwd: folder });
  return join(folder, 'blob');
}
