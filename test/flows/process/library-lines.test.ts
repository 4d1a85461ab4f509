/** Whatever the picture libraries have to complain about, every line of the log is JSON. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { Client } from '../../support/client.ts';
import { freePorts, startProcess, withDataFolder } from '../../support/process.ts';

const svg = (inside: string, width = '90'): string =>
  `data:image/svg+xml;base64,${Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="90">${inside}</svg>`,
  ).toString('base64')}`;

async function oddLogos(): Promise<Array<[string, number]>> {
  const color = { width: 64, height: 64, channels: 3, background: '#000000' } as const;
  const picture = sharp({ create: color });
  const png = await picture.png().toBuffer();
  const jpeg = await picture.jpeg().toBuffer();
  const text = (type: string, bytes: Uint8Array): string =>
    `data:image/${type};base64,${Buffer.from(bytes).toString('base64')}`;
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
    const service = await startProcess({
      dataDir,
      ports: await freePorts(),
      environment: { FONTCONFIG_FILE: fonts, VIPS_CONCURRENCY: '99999', QZ_IMAGES_THREADS: '1' },
    });
    const client = new Client(service.apiUrl, service.apiKey);
    for (const [logo, status] of await oddLogos()) {
      const body = { target: 'https://example.com/', design: { logo, errorCorrection: 'H' } };
      const answer = await client.call('POST', '/v1/qr-codes', { body });
      expect([logo.slice(0, 40), answer.status]).toEqual([logo.slice(0, 40), status]);
    }
    await client.close();
    expect(await service.terminate()).toMatchObject({ code: 0 });
    expect(service.stderr).not.toMatch(/fontconfig|VIPS|GLib/i);
    expect(service.complaints).toEqual([]);
    expect(existsSync(join(dataDir, 'cache', 'fonts'))).toBe(true);
  }));
