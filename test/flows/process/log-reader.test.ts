/** The reader of the log stalls, goes away and comes back: the service goes on, and says what nobody could read. */
import { execFileSync } from 'node:child_process';
import { closeSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Client } from '../../support/client.ts';
import { openReader, openWriter, readAll } from '../../support/named-pipe.ts';
import {
  entriesOf,
  freePorts,
  ServiceProcess,
  withDataFolder,
  readMetrics,
} from '../../support/process.ts';
import { preload } from '../../support/program.ts';
import { soon } from '../../support/soon.ts';

const threads = preload('end-threads');
const filling = Buffer.from(`${'#'.repeat(1_023)}\n`);

function fill(writer: number): void {
  try {
    for (;;) writeSync(writer, filling);
  } catch {
    // Full: that is what was wanted.
  }
}

it('redirects, changes and the stop need no reader', () =>
  withDataFolder(async (parent) => {
    const pipe = join(parent, 'log');
    execFileSync('mkfifo', [pipe]);
    const reader = openReader(pipe);
    const writer = openWriter(pipe);
    fill(writer);
    const service = new ServiceProcess({
      dataDir: join(parent, 'data'),
      ports: await freePorts(),
      nodeOptions: [threads],
      environment: { QZ_SCANS_SHARDS: '1', QZ_LOG_LEVEL: 'debug' },
      stderr: writer,
    });
    const anyone = new Client(service.apiUrl);
    const isReady = async (): Promise<boolean> => {
      const { status } = await anyone.call('GET', '/health/ready').catch(() => ({ status: 0 }));
      return status === 200 && /API key/.test(service.stdout);
    };
    const lost = async (): Promise<number> => {
      const text = await readMetrics(service.apiUrl);
      return Number(/^quietzone_log_lines_lost_total (\S+)$/m.exec(text)?.[1]);
    };
    let log = '';
    const logged = (from: number): string => (log += readAll(from)).replaceAll(/#+\n/g, '');
    await expect.poll(isReady, soon).toBe(true);
    const client = new Client(service.apiUrl, service.apiKey);
    const links = new Client(`http://127.0.0.1:${service.ports.redirect}`);
    const body = { target: 'https://example.com/', slug: 'unread' };
    expect((await client.call('POST', '/v1/qr-codes', { body })).status).toBe(201);
    expect((await links.call('GET', '/unread')).status).toBe(302);

    // It reads on: what was kept comes out without another line.
    await expect.poll(() => logged(reader), soon).toContain('"msg":"ready"');
    expect(entriesOf(logged(reader)).map(({ level }) => level)).not.toContain('error');
    expect(await lost()).toBe(0);

    closeSync(reader);
    service.signal('SIGWINCH');
    await expect
      .poll(async () => {
        for (let call = 0; call < 100; call++) await client.call('GET', '/v1/nothing');
        return await lost();
      }, soon)
      .toBeGreaterThan(0);
    expect((await links.call('GET', '/unread')).status).toBe(302);
    const next = openReader(pipe);
    log = '';
    await expect.poll(() => logged(next), soon).toContain('log lines lost');
    const told = entriesOf(log).find(({ msg }) => msg.startsWith('log lines lost'));
    expect(told).toMatchObject({ level: 'warn', lines: await lost() });

    fill(writer);
    await Promise.all([anyone.close(), client.close(), links.close()]);
    expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
    closeSync(writer);
    closeSync(next);
  }));
