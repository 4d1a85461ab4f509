/**
 * The log under abuse: one JSON line an entry, and no key, secret, password or client's address in it,
 * at the most talkative level.
 */
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { expectCleanLog } from '../support/log-hygiene.ts';
import { openReader, openWriter, readAll } from '../support/named-pipe.ts';
import {
  fewThreads,
  freePorts,
  runCommand,
  ServiceProcess,
  startProcess,
  withDataFolder,
} from '../support/process.ts';
import { entriesOf } from '../support/running-service.ts';
import { preload } from '../support/program.ts';
import { sendRaw } from '../support/raw-http.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';
import { trustLoopback } from './load.ts';

const visitor = '203.0.113.77';
const visitor6 = '2001:db8:77::1';
const password = 'correct-horse-battery';
const forged = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1c3JfMSJ9.c2lnbmF0dXJl';

it('holds no secret and no address, whatever is sent', () =>
  withDataFolder(async (dataDir) => {
    const settings = { QZ_LOG_LEVEL: 'trace', QZ_BOOTSTRAP_PASSWORD: password };
    const environment = { ...trustLoopback, ...fewThreads, ...settings };
    const service = await TestService.start({ dataDir, environment });
    const { apiKey, ports, api } = service;
    const command = ['keys', 'create', '--name', 'a"b', '--json'];
    const made = await runCommand(command, { QZ_DATA_DIR: dataDir });
    const { key }: { key: string } = JSON.parse(made.stdout);
    const headers = { 'x-forwarded-for': `${visitor6}, ${visitor}`, 'user-agent': 'a"b\\c' };
    const codes = '/v1/qr-codes';
    for (const { status } of [
      await api.post(codes, { target: `https://example.com/?token=${password}` }, { headers }),
      await api.call('POST', codes, { raw: `{"password":"${password}"`, headers }),
      await api.post(codes, { target: `https://u:${password}@example.com/` }, { headers }),
      await api.get(`${codes}?search=${apiKey}`, { headers }),
      await api.get(codes, { key: forged, headers }),
      await api.get(codes, { key, headers }),
      await api.get(`/v1/%0a{"level":"fatal"}`, { headers }),
      await api.delete(`${codes}/qr_00000000000000000000`, { headers }),
    ])
      expect(status).toBeLessThan(500);
    const proxied = `Host: q\r\nX-Forwarded-For: ${visitor}\r\n`;
    for (const port of [ports.redirect, ports.api]) {
      await sendRaw(port, [`GET /nobody HTTP/1.1\r\n${proxied}\r\n`], 50);
      await sendRaw(port, [`GET /\u0000 HTTP/1.1\r\n${proxied}Authorization: ${key}\r\n\r\n`], 50);
      await sendRaw(port, [`POST /x HTTP/1.1\r\n${proxied}Content-Length: 1e9\r\n\r\n`], 50);
    }
    await service.close();
    expectCleanLog(service, [apiKey, key, forged, password, visitor, visitor6]);
  }));

/** Whatever the picture libraries have to complain about, every line of the log is JSON. */

const text = (type: string, bytes: Uint8Array | string): string =>
  `data:image/${type};base64,${Buffer.from(bytes).toString('base64')}`;
const svg = (inside: string, width = '90'): string =>
  text(
    'svg+xml',
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="90">${inside}</svg>`,
  );

async function oddLogos(): Promise<Array<[string, number]>> {
  const color = { width: 64, height: 64, channels: 3, background: '#000000' } as const;
  const picture = sharp({ create: color });
  const png = await picture.png().toBuffer();
  const jpeg = await picture.jpeg().toBuffer();
  return [
    [svg('<text x="1" y="60" font-size="60" font-family="NoSuchFont">Q</text>'), 201],
    [svg('<rect width="90" height="90" fill="url(#none)" transform="rotate(nan)"/>'), 201],
    [svg('<rect width="9"'), 422],
    [svg('<rect width="9"/>', '2e9'), 422],
    [text('png', png), 201],
    [text('png', png.subarray(0, png.length - 30)), 422],
    [text('jpeg', jpeg.subarray(0, jpeg.length - 40)), 422],
  ];
}

it('holds without fonts that can be cached, and with threads that libvips refuses', () =>
  withDataFolder(async (parent) => {
    const fonts = join(parent, 'fonts.conf');
    // As where the whole system is read-only; fontconfig then says so in plain text.
    writeFileSync(
      fonts,
      '<?xml version="1.0"?><fontconfig><dir>/usr/share/fonts</dir><cachedir>/proc/none</cachedir></fontconfig>',
    );
    const dataDir = join(parent, 'data');
    const odd = { FONTCONFIG_FILE: fonts, VIPS_CONCURRENCY: '99999' };
    const service = await startProcess({ dataDir, environment: { ...fewThreads, ...odd } });
    for (const [logo, status] of await oddLogos()) {
      const body = { target: 'https://example.com/', design: { logo, errorCorrection: 'H' } };
      const answer = await service.api.post('/v1/qr-codes', body);
      expect(answer.status, logo.slice(0, 40)).toBe(status);
    }
    expect(await service.terminate()).toMatchObject({ code: 0 });
    expect(service.stderr).not.toMatch(/fontconfig|VIPS|GLib/i);
    expect(service.complaints).toEqual([]);
    expect(existsSync(join(dataDir, 'cache', 'fonts'))).toBe(true);
  }));

/** The reader of the log stalls, goes away and comes back: the service goes on, and says what nobody could read. */

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
      nodeOptions: [preload('end-threads')],
      environment: { QZ_SCANS_SHARDS: '1', QZ_LOG_LEVEL: 'debug' },
      stderr: writer,
    });
    const isReady = async () => (await service.isReady()) && /API key/.test(service.stdout);
    const lost = () => service.metric('quietzone_log_lines_lost_total');
    let log = '';
    const logged = (from: number): string => (log += readAll(from)).replaceAll(/#+\n/g, '');
    await expect.poll(isReady, soon).toBe(true);
    await service.makeCode({ slug: 'unread' });
    await service.scan('unread');

    // It reads on: what was kept comes out without another line.
    await expect.poll(() => logged(reader), soon).toContain('"msg":"ready"');
    expect(entriesOf(logged(reader)).map(({ level }) => level)).not.toContain('error');
    expect(await lost()).toBe(0);

    closeSync(reader);
    service.signal('SIGWINCH');
    await expect
      .poll(async () => {
        for (let call = 0; call < 100; call++) await service.api.get('/v1/nothing');
        return await lost();
      }, soon)
      .toBeGreaterThan(0);
    await service.scan('unread');
    const next = openReader(pipe);
    log = '';
    await expect.poll(() => logged(next), soon).toContain('log lines lost');
    const told = entriesOf(log).find(({ msg }) => msg.startsWith('log lines lost'));
    expect(told).toMatchObject({ level: 'warn', lines: await lost() });

    fill(writer);
    expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
    closeSync(writer);
    closeSync(next);
  }));
