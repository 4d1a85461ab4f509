/** `quietzone demo --existing`: serves the demo of a folder, says who can sign in, and takes what the demo sends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeDemo } from '../../../src/cli/demo/demo-folder.ts';
import { paths } from '../../../src/cli/demo/receiver.ts';
import { colleagues } from '../../../src/cli/demo/workspace.ts';
import { run } from '../../../src/cli/run.ts';
import { freePorts, startProcess, withDataFolder } from '../../support/process.ts';

it('the command serves a demo, says who can sign in, and takes its webhooks', () =>
  withDataFolder(async (folder) => {
    const [email, password] = ['ada@example.com', 'correct horse battery'];
    const receiverPort = (await freePorts()).api;
    writeDemo(folder, { seed: 1, email, password, receiverPort, complete: true });
    const command = ['demo', '--existing', '--dir', folder];
    const service = await startProcess({ dataDir: folder, ports: await freePorts(), command });
    for (const text of [email, password, ...colleagues.map((one) => one.email)]) {
      await expect.poll(() => service.stdout).toContain(text);
    }
    expect((await fetch(service.apiUrl)).status).toBe(200);
    const receiver = `http://127.0.0.1:${receiverPort}${paths.taking}`;
    expect((await fetch(receiver, { method: 'POST', body: '{}' })).ok).toBe(true);
    expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
  }));

it('the command refuses to serve a folder without a demo', async () => {
  const other = mkdtempSync(join(tmpdir(), 'quietzone-demo-'));
  const said: string[] = [];
  const code = await run(['demo', '--existing', '--dir', other], {
    result: () => undefined,
    show: async () => undefined,
    progress: (line) => void said.push(line),
    terminal: undefined,
    environment: {},
  });
  expect([code, said.join('\n')]).toEqual([1, expect.stringContaining('has no demo')]);
  rmSync(other, { recursive: true });
});
