/** `npm run dev`: restarts when a file changed that only a thread loads. A small program stands for the service. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, it } from 'vitest';

const program = `
import { Worker } from 'node:worker_threads';
new Worker(new URL('thread.ts', import.meta.url));
setInterval(() => undefined, 1_000);
`;
const thread = (text: string): string => `console.log('thread ${text}');\n`;
const folder = mkdtempSync(join(tmpdir(), 'quietzone-dev-'));
let child: ChildProcess | undefined;

afterEach(async () => {
  if (child !== undefined && child.kill('SIGTERM')) await once(child, 'exit');
  rmSync(folder, { recursive: true, force: true });
});

it('restarts when a file of a thread changed', async () => {
  const manifest: { scripts: { dev: string } } = JSON.parse(readFileSync('package.json', 'utf8'));
  const [, ...args] = manifest.scripts.dev.split(' ');
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'src', 'main.ts'), program);
  writeFileSync(join(folder, 'src', 'thread.ts'), thread('of before'));
  child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout! })) {
    if (line === 'thread of before') {
      writeFileSync(join(folder, 'src', 'thread.ts'), thread('of after'));
    }
    if (line === 'thread of after') return;
  }
  expect.unreachable('it ended without a restart');
});
