/** The packages of another platform than this one: installed beside, without running any of their scripts. */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Target } from './natives.ts';

const keyDigits = 16;

/** Returns a node_modules folder with the native packages of `target`, of the versions that are locked. */
export async function modulesOf(root: string, target: Target): Promise<string> {
  const own = join(root, 'node_modules');
  if (target === `${process.platform}-${process.arch}`) return own;
  const lock = await readFile(join(root, 'package-lock.json'));
  const key = hash('sha256', lock, 'hex').slice(0, keyDigits);
  const folder = join(own, '.cache/quietzone-build', `${target}-${key}`);
  if (!existsSync(folder)) await install(root, target, folder);
  return join(folder, 'node_modules');
}

async function install(root: string, target: Target, folder: string): Promise<void> {
  const draft = `${folder}.${process.pid}.new`;
  await mkdir(draft, { recursive: true });
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
      await cp(join(root, name), join(draft, name));
    }
    const [os = '', cpu = ''] = target.split('-');
    const only = ['--omit=dev', `--os=${os}`, `--cpu=${cpu}`, '--libc=glibc', '--ignore-scripts'];
    await promisify(execFile)('npm', ['ci', ...only], { cwd: draft });
    await rename(draft, folder);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
