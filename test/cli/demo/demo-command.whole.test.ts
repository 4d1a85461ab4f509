/** `quietzone demo --existing`: serves the demo of a folder, says who can sign in, and takes what the demo sends. */
import { expect, it } from 'vitest';
import { writeDemo } from '../../../src/cli/demo/build-demo.ts';
import { paths } from '../../../src/cli/demo/receiver.ts';
import { colleagues, owner } from '../../../src/cli/demo/script.ts';
import { freePorts, startProcess, withDataFolder } from '../../support/process.ts';

it('the command serves a demo, says who can sign in, and takes its webhooks', () =>
  withDataFolder(async (folder) => {
    const password = 'correct horse battery';
    const receiverPort = (await freePorts()).api;
    writeDemo(folder, { password, receiverPort, complete: true });
    const command = ['demo', '--existing', '--dir', folder];
    const service = await startProcess({ dataDir: folder, ports: await freePorts(), command });
    for (const text of [owner, password, ...colleagues.map((one) => one.email)]) {
      await expect.poll(() => service.stdout).toContain(text);
    }
    expect((await fetch(service.apiUrl)).status).toBe(200);
    const receiver = `http://127.0.0.1:${receiverPort}${paths.taking}`;
    expect((await fetch(receiver, { method: 'POST', body: '{}' })).ok).toBe(true);
    expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
  }));
